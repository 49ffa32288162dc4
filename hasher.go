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

// boundedHasher is a Hasher of this package: its text is fit for a key and has at
// most maxLen bytes.
type boundedHasher interface {
	Hasher
	maxLen() int
}

var (
	_ boundedHasher = digest{}
	_ boundedHasher = (*keyed)(nil)
	_ boundedHasher = plain{}
	_ Hasher        = HasherFunc(nil)
)

// digest is the default Hasher.
type digest struct{}

func (digest) AppendHash(dst, encoded []byte) []byte { return keyenc.AppendDigest(dst, encoded) }

func (digest) maxLen() int { return keyenc.DigestLen }

// Plain returns a [Hasher] that shows the parameters, such as "(u1,7)" or "s(ID=7)",
// for people who read keys: see docs/keys.md. A text of more than 96 bytes ends with a
// digest, so Prefix+Value may have 103 bytes. Keys appear in logs: do not use Plain for
// parameters that are personal or secret.
func Plain() Hasher { return plain{} }

type plain struct{}

func (plain) AppendHash(dst, encoded []byte) []byte { return keyenc.AppendPlain(dst, encoded) }

func (plain) maxLen() int { return keyenc.PlainLen }

// HasherFunc is a function as a [Hasher]. It gets the encoded parameters, which it must
// neither change nor keep, and returns the text. It must not be nil.
type HasherFunc func(encoded []byte) string

// AppendHash appends f(encoded) to dst.
func (f HasherFunc) AppendHash(dst, encoded []byte) []byte {
	return append(dst, f(encoded)...)
}

// minSecret is the least length of a secret in bytes: the 128 bits of the result.
const minSecret = keyenc.DigestLen / 2

// Keyed returns a Hasher with a secret: HMAC-SHA-256 cut to 128 bits, in hex. It is for
// stores in which others see the names of keys: they cannot try out which order or
// customer a key stands for. All processes need the same secret, and a new one changes
// all keys. Keyed copies the secret and panics if it has fewer than 16 bytes.
func Keyed(secret []byte) Hasher {
	if len(secret) < minSecret {
		panic("distlock: Keyed: the secret has " + strconv.Itoa(len(secret)) +
			" bytes: at least " + strconv.Itoa(minSecret))
	}
	k := &keyed{}
	own := bytes.Clone(secret) // the pool makes states at any time
	k.states.New = func() any { return &keyedState{mac: hmac.New(sha256.New, own)} }
	return k
}

type keyed struct{ states sync.Pool }

type keyedState struct {
	mac hash.Hash
	sum [sha256.Size]byte
}

func (k *keyed) AppendHash(dst, encoded []byte) []byte {
	s := k.states.Get().(*keyedState)
	s.mac.Reset()
	s.mac.Write(encoded)
	dst = hex.AppendEncode(dst, s.mac.Sum(s.sum[:0])[:keyenc.DigestLen/2])
	k.states.Put(s)
	return dst
}

func (k *keyed) maxLen() int { return keyenc.DigestLen }
