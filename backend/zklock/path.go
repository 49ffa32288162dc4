package zklock

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// EscapeKey returns the name of the node that stands for a key: the key itself,
// with %XX for each byte that ZooKeeper forbids or that would have a meaning in a
// path. Different keys have different names, and no name has a slash in it.
func EscapeKey(key string) string {
	switch key {
	case "":
		return "%"
	case ".", "..", "zookeeper": // the first two are no names, the third is the server's own
		return percent(key[:1]) + key[1:]
	}
	plain := true
	for i := range len(key) {
		if c := key[i]; c >= utf8.RuneSelf || !plainByte(c) {
			plain = false
			break
		}
	}
	if plain {
		return key
	}
	var b strings.Builder
	for i := 0; i < len(key); {
		r, n := utf8.DecodeRuneInString(key[i:])
		if r < utf8.RuneSelf && plainByte(byte(r)) || r >= 0xa0 && r < 0xd800 {
			b.WriteString(key[i : i+n])
		} else {
			b.WriteString(percent(key[i : i+n]))
		}
		i += n
	}
	return b.String()
}

// UnescapeKey returns the key that [EscapeKey] gave the name, and false if the
// name is none of its own.
func UnescapeKey(name string) (key string, ok bool) {
	if name == "%" {
		return "", true
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] != '%' {
			b.WriteByte(name[i])
			continue
		}
		if i+2 >= len(name) {
			return "", false
		}
		high, low := strings.IndexByte(hexDigits, name[i+1]), strings.IndexByte(hexDigits, name[i+2])
		if high < 0 || low < 0 {
			return "", false
		}
		b.WriteByte(byte(high<<4 | low))
		i += 2
	}
	key = b.String()
	return key, EscapeKey(key) == name
}

const hexDigits = "0123456789ABCDEF"

// plainByte tells which ASCII stands for itself. Java's strings are UTF-16, and
// ZooKeeper refuses the halves of surrogate pairs, the private use area and what
// follows: of the rest, runes below U+D800 stand for themselves, too.
func plainByte(c byte) bool { return c >= ' ' && c < 0x7f && c != '/' && c != '%' }

func percent(s string) string {
	b := make([]byte, 0, 3*len(s))
	for i := range len(s) {
		b = append(b, '%', hexDigits[s[i]>>4], hexDigits[s[i]&15])
	}
	return string(b)
}

// checkPath says whether an absolute path is one to ZooKeeper.
func checkPath(path string) error {
	if path == "/" {
		return nil
	}
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("path %q does not begin with a slash", path)
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		if name == "" || name == "." || name == ".." {
			return fmt.Errorf("path %q has an element %q", path, name)
		}
		for _, r := range name {
			if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0xd800 {
				return fmt.Errorf("path %q has the character %q", path, r)
			}
		}
	}
	return nil
}
