package distlock

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
	"sync"

	"github.com/distlock-go/distlock/internal/keyenc"
)

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
