package distlock

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Plain is a [Hasher] for people who read keys: it shows the parameters. Any two
// parameters that differ have different texts, as with the default.
//
//	42, -7            integers
//	1.5, 5.0, +Inf    floats; c(1.5,0.0) a complex number
//	true, false, nil
//	u1, a%2Fb         strings: letters, digits, "_", "-", "." and "@" stay, other
//	                  bytes become %XX
//	'42, 'nil, '      strings that do not begin with a letter, "_" or "%XX", or
//	                  would read as something else, are marked
//	0x6162            []byte
//	(u1,7)            lists, and so several parameters
//	s(ID=7,SKU=u1)    structs
//	m(a=1,b=2)        maps
//
// A text of more than 96 bytes is cut, and "~" and the default digest of all of
// it are put behind, which makes 96 again. So Prefix+Value may have 103 bytes.
//
// Keys end in logs, dashboards and monitoring: do not use Plain for parameters
// that are personal or secret.
var Plain Hasher = plain{}

type plain struct{}

const (
	plainMax = 96
	plainCut = plainMax - len("~") - digestLen
)

func (plain) maxLen() int { return plainMax }

func (plain) AppendHash(dst, encoded []byte) []byte {
	start := len(dst)
	w := plainWriter{out: dst, most: start + plainMax, in: encoded}
	w.value(0)
	if !w.failed && len(w.in) == 0 && len(w.out) <= w.most {
		return w.out
	}
	dst = w.out[:min(len(w.out), start+plainCut)]
	if w.failed { // not an encoding of ours: there is nothing to show
		dst = dst[:start]
	}
	// Do not leave half of a %XX.
	if i := slices.Index(dst[max(start, len(dst)-2):], '%'); i >= 0 {
		dst = dst[:max(start, len(dst)-2)+i]
	}
	return digest{}.AppendHash(append(dst, '~'), encoded)
}

// plainWriter reads the encoding back. It stops when there is enough to cut.
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
	if len(w.in) == 0 || depth > maxNesting {
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
		w.out = hex.AppendEncode(append(w.out, "0x"...), b[:min(len(b), plainMax)])
		// What is left out here is over the limit in any case.
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

// string marks what would read as something else. A bare string begins with a
// letter, "_" or "%" and is none of the words; nothing else does but "c(", "m(",
// "s(", and a parenthesis is escaped in strings.
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

// float shows a point or an exponent always, because 5 is an integer.
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

// plainByte reports whether c stays as it is. The set is ASCII: what counts as a
// letter elsewhere changes with the version of Unicode, and keys must not.
func plainByte(c byte) bool {
	return isLetter(c) || '0' <= c && c <= '9' || strings.IndexByte("_-.@", c) >= 0
}
