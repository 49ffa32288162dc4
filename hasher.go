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

// Plain returns a [Hasher] for people who read keys: it shows the parameters. As
// with the default, different parameters have different texts.
//
//	42, -7            integers
//	1.5, 5.0, +Inf    floats; c(1.5,0.0) is a complex number
//	true, false, nil
//	u1, a%2Fb         strings: letters, digits, "_", "-", "." and "@" stay, other
//	                  bytes become %XX
//	'42, 'nil, '      strings that do not begin with a letter, "_" or "%XX", or
//	                  would read as another kind of value, have a mark
//	0x6162            []byte
//	(u1,7)            lists, and so several parameters
//	s(ID=7,SKU=u1)    structs
//	m(a=1,b=2)        maps
//
// A text of more than 96 bytes is cut and ends with "~" and the default digest of
// the whole, 96 bytes in all. So Prefix+Value may have 103 bytes.
//
// Keys appear in logs, dashboards and monitoring: do not use Plain for parameters
// that are personal or secret.
func Plain() Hasher { return plain{} }

type plain struct{}

func (plain) AppendHash(dst, encoded []byte) []byte { return keyenc.AppendPlain(dst, encoded) }

func (plain) maxLen() int { return keyenc.PlainLen }

// HasherFunc is a function as a [Hasher]. It gets the encoded parameters, which it
// must neither change nor keep, and returns the last part of the key. It is called
// concurrently. The result must be as [Hasher] demands. [Opts.Validate] refuses a
// nil HasherFunc.
type HasherFunc func(encoded []byte) string

// AppendHash appends f(encoded) to dst.
func (f HasherFunc) AppendHash(dst, encoded []byte) []byte {
	return append(dst, f(encoded)...)
}

// minSecret is the least length of a secret in bytes: the 128 bits of the result.
const minSecret = keyenc.DigestLen / 2

// Keyed returns a Hasher like the default, but with a secret: HMAC-SHA-256 cut to
// 128 bits, in hex. It is for stores in which others can see the names of keys.
// Without a secret they can try out which order or customer a key stands for.
//
// All processes that are to exclude each other need the same secret, and a new
// secret changes all keys. Keyed copies the secret. It panics if the secret has
// fewer than 16 bytes.
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
