// Package keyenc makes the text that stands for the parameters of a lock: values that may be
// the same thing have one text, in every process and through every way in. The rules are
// in docs/keys.md.
//
// A parameter is a text or a list. A list is joined with ":", and one inside another is in
// parentheses. A list of one is its element; nil and a list of none are the empty text.
// So no text stands for two lists, whatever strings they hold.
//
// The text is a promise: a change to it changes keys, and processes of the old and the new
// version would no longer exclude each other.
package keyenc

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what is encoded. Parameters come from strangers: they must not make
// the process walk without end or hash a gigabyte.
const (
	MaxEncoded = 1 << 20 // bytes
	MaxNesting = 64      // structs, lists and maps in one another; pointers in a row
)

// MaxKeyLen is the most bytes that a full key may have.
const MaxKeyLen = 200

// Skip stands in place of parameters of a call that needs no lock. It cannot be
// encoded. Its text only shows in a log.
const Skip skip = "distlock.Skip"

type skip string

// Fault stands for parameters that a middleware could not make: a Site returns Err, after
// its hooks have been told.
type Fault struct{ Err error }

// DigestLen is the length of a digest in bytes. 128 bits are enough that two parameters
// with one digest cannot be found.
const DigestLen = 32

// AppendText appends encoded to dst, the beginning of a key. If the key would be too long, it
// appends "~", which no encoding has, and the digest.
func AppendText(dst, encoded []byte) []byte {
	if len(dst)+len(encoded) <= MaxKeyLen {
		return append(dst, encoded...)
	}
	sum := sha256.Sum256(encoded)
	return hex.AppendEncode(append(dst, '~'), sum[:DigestLen/2])
}

// shown are the ASCII characters that stay as they are. The others have a meaning here, or
// cannot be part of a key: white space, control characters and braces.
var shown = func() (set [utf8.RuneSelf]bool) {
	for c := byte('!'); c <= '~'; c++ {
		set[c] = strings.IndexByte("%:(){}~", c) < 0
	}
	return set
}()

// escape appends s with %XX in the place of each byte that cannot be shown.
func escape[T string | []byte](dst []byte, s T) []byte {
	const digits = "0123456789ABCDEF"
	for i := 0; i < len(s); {
		n, fine := 1, s[i] < utf8.RuneSelf && shown[s[i]]
		if s[i] >= utf8.RuneSelf {
			var r rune
			r, n = utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			fine = n > 1 && !unicode.In(r, unicode.White_Space, unicode.C)
		}
		for _, c := range []byte(s[i : i+n]) {
			if fine {
				dst = append(dst, c)
			} else {
				dst = append(dst, '%', digits[c>>4], digits[c&15])
			}
		}
		i += n
	}
	return dst
}
