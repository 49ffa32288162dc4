package keyenc

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Lengths of the texts in bytes.
const (
	DigestLen = 2 * digestBytes
	PlainLen  = 96 // at most

	// 128 bits leave room in the key, and are enough that two parameters with one
	// digest cannot be found.
	digestBytes = 16

	cutLen = PlainLen - len("~") - DigestLen
)

// AppendDigest appends the SHA-256 of encoded to dst, cut to 128 bits, in hex.
func AppendDigest(dst, encoded []byte) []byte {
	sum := sha256.Sum256(encoded)
	return hex.AppendEncode(dst, sum[:digestBytes])
}

// AppendPlain appends encoded to dst as people read it, as documented at
// distlock.Plain. If encoded is not an encoding, only "~" and the digest remain.
func AppendPlain(dst, encoded []byte) []byte {
	start := len(dst)
	w := plainWriter{out: dst, most: start + PlainLen, in: encoded}
	w.value(0)
	if !w.failed && len(w.in) == 0 && len(w.out) <= w.most {
		return w.out
	}
	dst = w.out[:min(len(w.out), start+cutLen)]
	if w.failed { // not an encoding: there is nothing to show
		dst = dst[:start]
	}
	// Do not leave half of a %XX.
	if i := slices.Index(dst[max(start, len(dst)-2):], '%'); i >= 0 {
		dst = dst[:max(start, len(dst)-2)+i]
	}
	return AppendDigest(append(dst, '~'), encoded)
}

// plainWriter decodes an encoding and writes it as text. It stops when the text is
// too long.
type plainWriter struct {
	out    []byte
	most   int
	in     []byte
	failed bool
}

func (w *plainWriter) value(depth int) {
	if len(w.out) > w.most || w.failed {
		return
	}
	if len(w.in) == 0 || depth > MaxNesting {
		w.failed = true
		return
	}
	tag := w.in[0]
	w.in = w.in[1:]
	switch tag {
	case tagNil:
		w.out = append(w.out, "nil"...)
	case tagFalse:
		w.out = append(w.out, "false"...)
	case tagTrue:
		w.out = append(w.out, "true"...)
	case tagInt:
		w.out = strconv.AppendUint(w.out, w.uvarint(), 10)
	case tagNeg:
		w.out = strconv.AppendUint(append(w.out, '-'), w.uvarint(), 10)
	case tagFloat:
		w.float()
	case tagComplex:
		w.out = append(w.out, "c("...)
		w.float()
		w.out = append(w.out, ',')
		w.float()
		w.out = append(w.out, ')')
	case tagString:
		w.string(w.bytes())
	case tagBytes:
		b := w.bytes()
		w.out = hex.AppendEncode(append(w.out, "0x"...), b[:min(len(b), PlainLen)])
		// Bytes left out here would be over the limit.
	case tagList:
		w.sequence("(", func() { w.value(depth + 1) })
	case tagMap:
		w.sequence("m(", func() {
			w.value(depth + 1)
			w.out = append(w.out, '=')
			w.value(depth + 1)
		})
	case tagStruct:
		w.sequence("s(", func() {
			w.escape(w.bytes())
			w.out = append(w.out, '=')
			w.value(depth + 1)
		})
	default:
		w.failed = true
	}
}

func (w *plainWriter) sequence(open string, element func()) {
	n := w.uvarint()
	w.out = append(w.out, open...)
	for i := uint64(0); i < n && !w.failed && len(w.out) <= w.most; i++ {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		element()
	}
	w.out = append(w.out, ')')
}

// string marks a string that would read as another kind of value. A string without
// a mark begins with a letter, "_" or "%" and is not one of the words. Of the other
// kinds only "c(", "m(" and "s(" begin with a letter, and a parenthesis is escaped
// in strings.
func (w *plainWriter) string(s []byte) {
	bare := len(s) > 0 && (isLetter(s[0]) || s[0] == '_' || !plainByte(s[0]))
	switch string(s) {
	case "nil", "true", "false":
		bare = false
	}
	if !bare {
		w.out = append(w.out, '\'')
	}
	w.escape(s)
}

func (w *plainWriter) escape(s []byte) {
	const digits = "0123456789ABCDEF"
	for _, c := range s {
		if len(w.out) > w.most {
			return
		}
		if plainByte(c) {
			w.out = append(w.out, c)
		} else {
			w.out = append(w.out, '%', digits[c>>4], digits[c&15])
		}
	}
}

// float always writes a point or an exponent, because 5 is an integer.
func (w *plainWriter) float() {
	if len(w.in) < 8 {
		w.failed = true
		return
	}
	f := math.Float64frombits(binary.BigEndian.Uint64(w.in))
	w.in = w.in[8:]
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".eI") {
		text += ".0"
	}
	w.out = append(w.out, text...)
}

func (w *plainWriter) uvarint() uint64 {
	u, n := binary.Uvarint(w.in)
	if n <= 0 {
		w.failed = true
		return 0
	}
	w.in = w.in[n:]
	return u
}

func (w *plainWriter) bytes() []byte {
	n := w.uvarint()
	if n > uint64(len(w.in)) {
		w.failed = true
		return nil
	}
	b := w.in[:n]
	w.in = w.in[n:]
	return b
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// plainByte reports whether c is not escaped. The set is ASCII, because the letters
// of Unicode change with its version, and keys must not.
func plainByte(c byte) bool {
	return isLetter(c) || '0' <= c && c <= '9' || strings.IndexByte("_-.@", c) >= 0
}
