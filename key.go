package distlock

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"sync"
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
	case !utf8.ValidString(key):
		return "is not valid UTF-8"
	}
	for at, r := range key {
		switch {
		case ' ' < r && r < 0x7f: // most of them
		case unicode.IsSpace(r):
			return "has white space at byte " + strconv.Itoa(at)
		case unicode.IsControl(r):
			return "has a control character at byte " + strconv.Itoa(at)
		}
	}
	opening, closing := strings.Count(key, "{"), strings.Count(key, "}")
	if opening+closing > 0 && (opening != 1 || closing != 1 || strings.IndexByte(key, '}') < strings.IndexByte(key, '{')+2) {
		return "has braces that are not one hash tag, such as {order}"
	}
	return ""
}

// Hasher turns encoded parameters into the last part of a key: it appends a text to dst
// and returns the extended slice. [Plain] and [Keyed] make one; the default is SHA-256 cut
// to 128 bits, in hex. A Hasher is called concurrently and must not block. It must neither
// change nor keep the two slices.
//
// The text must depend on encoded alone, and be the same in every process. It must not be
// feasible to find two encodings with one text, because clients choose parameters. When
// options are checked, encoded is empty, and the text shows how much room to leave.
//
// A key is refused with [ErrKey] if it is over 200 bytes or not UTF-8, or has white space,
// control characters, or braces that are not one hash tag. The text must not be empty.
type Hasher func(dst, encoded []byte) []byte

// Plain returns a [Hasher] that shows the parameters, such as "(u1,7)" or "s(ID=7)",
// for people who read keys: see docs/keys.md. A text of more than 96 bytes ends with a
// digest, so Prefix+Value may have 103 bytes. Keys appear in logs: do not use Plain for
// parameters that are personal or secret.
func Plain() Hasher {
	return func(dst, encoded []byte) []byte {
		if len(encoded) == 0 { // the room that a text may need
			return append(dst, make([]byte, keyenc.PlainLen)...)
		}
		return keyenc.AppendPlain(dst, encoded)
	}
}

// textLen returns the length of the texts of h, as far as it is known before there are
// parameters: exact for a digest, the most for [Plain], and at least 1.
func (h Hasher) textLen() (n int) {
	if h == nil {
		return keyenc.DigestLen
	}
	defer func() {
		if recover() != nil {
			n = 1 // the calls will show the panic
		}
	}()
	return max(len(h(nil, nil)), 1)
}

// minSecret is the least length of a secret in bytes: the 128 bits of the result.
const minSecret = keyenc.DigestLen / 2

// Keyed returns a Hasher with a secret: HMAC-SHA-256 cut to 128 bits, in hex. Others who
// see the keys in the store cannot try out which customer a key stands for. All processes
// need the same secret. Keyed copies it and panics if it has fewer than 16 bytes.
func Keyed(secret []byte) Hasher {
	if len(secret) < minSecret {
		panic("distlock: Keyed: the secret has " + strconv.Itoa(len(secret)) +
			" bytes: at least " + strconv.Itoa(minSecret))
	}
	own := bytes.Clone(secret) // the pool makes states at any time
	states := sync.Pool{New: func() any { return &keyedState{mac: hmac.New(sha256.New, own)} }}
	return func(dst, encoded []byte) []byte {
		s := states.Get().(*keyedState)
		s.mac.Reset()
		s.mac.Write(encoded)
		dst = hex.AppendEncode(dst, s.mac.Sum(s.sum[:0])[:keyenc.DigestLen/2])
		states.Put(s)
		return dst
	}
}

type keyedState struct {
	mac hash.Hash
	sum [sha256.Size]byte
}
