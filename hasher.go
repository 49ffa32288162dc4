package distlock

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
	"sync"
)

// digestLen is the length of a SHA-256 cut to 128 bits, in hex: long enough that
// nobody finds two parameters with one key, short enough to leave room.
const (
	digestBytes = 16
	digestLen   = 2 * digestBytes
)

// boundedHasher is a Hasher of this package: what it appends is fit for a key
// and has at most maxLen bytes.
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

func (digest) AppendHash(dst, encoded []byte) []byte {
	sum := sha256.Sum256(encoded)
	return hex.AppendEncode(dst, sum[:digestBytes])
}

func (digest) maxLen() int { return digestLen }

// HasherFunc is a function as a [Hasher]. It gets the encoded parameters, which
// it must neither change nor keep, and returns the last part of the key. It is
// called concurrently. What [Hasher] demands of the result holds here too. A nil
// HasherFunc is refused by [Opts.Validate].
type HasherFunc func(encoded []byte) string

// AppendHash appends f(encoded) to dst.
func (f HasherFunc) AppendHash(dst, encoded []byte) []byte {
	return append(dst, f(encoded)...)
}

// minSecret is the least length of a secret: the 128 bits that the result has.
const minSecret = digestBytes

// Keyed returns a Hasher like the default one whose result nobody can compute
// who does not have the secret: HMAC-SHA-256 cut to 128 bits, in hex. It is for
// stores whose key names others can see or guess: without it, whoever sees a key
// can try out which order or customer it stands for.
//
// All processes that are to exclude each other need the same secret, and a
// change of the secret is a change of all keys. Keyed copies the secret. It
// panics if the secret has fewer than 16 bytes.
func Keyed(secret []byte) Hasher {
	if len(secret) < minSecret {
		panic("distlock: Keyed: the secret has " + strconv.Itoa(len(secret)) +
			" bytes: at least " + strconv.Itoa(minSecret))
	}
	k := &keyed{}
	own := bytes.Clone(secret) // states are made at any time later
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
	dst = hex.AppendEncode(dst, s.mac.Sum(s.sum[:0])[:digestBytes])
	k.states.Put(s)
	return dst
}

func (k *keyed) maxLen() int { return digestLen }
