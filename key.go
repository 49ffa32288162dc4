package distlock

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/distlock-go/distlock/internal/keyenc"
	"github.com/distlock-go/distlock/internal/text"
)

// validateBase checks Prefix + Value, which may be empty.
func validateBase(base string) error {
	if base == "" {
		return nil
	}
	if fault := keyFault(base); fault != "" {
		return fieldErrorf("Prefix+Value", "%s %s", text.Quote(base), fault)
	}
	return nil
}

// validateRoom checks that base leaves room for the text that h appends.
func validateRoom(base string, h Hasher) error {
	if most := max(keyenc.MaxKeyLen-len(":")-h.textLen(), 0); len(base) > most && len(base) <= keyenc.MaxKeyLen {
		return fieldErrorf("Prefix+Value", "%s is %d bytes long and leaves no room for the parameters: at most %d with this Hasher",
			text.Quote(base), len(base), most)
	}
	return nil
}

// checkKey checks a full key. It allocates only if it refuses the key.
func checkKey(key string) error {
	if fault := keyFault(key); fault != "" {
		return &Error{Op: "key", Key: key, Err: fmt.Errorf("%w: it %s", ErrKey, fault)}
	}
	return nil
}

// keyFault returns what is wrong with key, or "". It refuses characters that have a
// meaning elsewhere: white space and control characters end words and lines in
// protocols, logs and shells. Braces choose the slot in Redis Cluster, and so a key may
// have them around one hash tag only.
func keyFault(key string) string {
	switch {
	case key == "":
		return "is empty"
	case len(key) > keyenc.MaxKeyLen:
		return "is " + strconv.Itoa(len(key)) + " bytes long: at most " + strconv.Itoa(keyenc.MaxKeyLen)
	}
	braces := false
	for i := range len(key) {
		switch c := key[i]; {
		case c >= utf8.RuneSelf:
			return keyFaultUnicode(key, i)
		case c <= ' ' || c == 0x7f:
			return runeFault(rune(c), i)
		case c == '{' || c == '}':
			braces = true
		}
	}
	if braces {
		return tagFault(key)
	}
	return ""
}

func keyFaultUnicode(key string, from int) string {
	if !utf8.ValidString(key) {
		return "is not valid UTF-8"
	}
	for i, r := range key[from:] {
		if fault := runeFault(r, from+i); fault != "" {
			return fault
		}
	}
	return tagFault(key)
}

// tagFault returns what is wrong with the braces of a key, or "".
func tagFault(key string) string {
	opening, closing := strings.Count(key, "{"), strings.Count(key, "}")
	if opening == 0 && closing == 0 {
		return ""
	}
	if opening != 1 || closing != 1 || strings.IndexByte(key, '}') < strings.IndexByte(key, '{')+2 {
		return "has braces that are not one hash tag, such as {order}"
	}
	return ""
}

func runeFault(r rune, at int) string {
	var what string
	switch {
	case unicode.IsSpace(r):
		what = "white space"
	case unicode.IsControl(r):
		what = "a control character"
	default:
		return ""
	}
	return "has " + what + " at byte " + strconv.Itoa(at)
}
