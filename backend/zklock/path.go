package zklock

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// EscapeKey returns the name of a key's node: the key, with %XX for each byte that
// ZooKeeper forbids or that has a meaning in a path. Different keys have different
// names, and a name never contains a slash.
func EscapeKey(key string) string {
	switch key {
	case "":
		return "%"
	case ".", "..", "zookeeper": // ZooKeeper forbids the first two, and the third is its own
		return percent(key[:1]) + key[1:]
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

// UnescapeKey is the inverse of [EscapeKey]. It returns false if EscapeKey does not
// return the name for any key.
func UnescapeKey(name string) (key string, ok bool) {
	if name == EscapeKey("") {
		return "", true
	}
	key, err := url.PathUnescape(name)
	return key, err == nil && EscapeKey(key) == name
}

// plainByte reports whether an ASCII character is not escaped. Of the other characters,
// all below U+D800 are not escaped either. Java's strings are UTF-16, and ZooKeeper
// refuses the halves of surrogate pairs, the private use area and everything above it.
func plainByte(c byte) bool { return c >= ' ' && c < 0x7f && c != '/' && c != '%' }

func percent(s string) string {
	var b strings.Builder
	for i := range len(s) {
		_, _ = fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}

// checkPath returns an error if path is not an absolute path that ZooKeeper accepts.
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
