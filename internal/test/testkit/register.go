package testkit

import (
	"sync"
	"testing"

	"github.com/distlock-go/distlock"
)

// Register is the resource that a lock protects, in the memory of the test. It sees the
// holders and their tokens: holders of a key must be alone, and tokens must rise. Its zero
// value is ready, and it is safe for concurrent use.
//
// While a store may lose what it has granted, the test makes the register lenient. A token
// never occurs twice all the same, and is never below the token of a holder that had left before
// the request, or that entered while the register was strict.
type Register struct {
	mu      sync.Mutex
	lenient bool
	uses    int
	keys    map[string]*resource
}

// resource is what one key protects.
type resource struct {
	inside map[uint64]visit // by token
	strict uint64           // the highest token that entered while the register was strict
	left   uint64           // the highest token that has left
	seen   map[uint64]bool
}

type visit struct {
	strict bool
	valid  func() bool
}

// SetLenient makes the register lenient, or strict again, for whoever enters from now on.
func (r *Register) SetLenient(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lenient = on
}

// Enter begins the use of a key that was acquired with a token.
func (r *Register) Enter(tb testing.TB, key string, token uint64) {
	tb.Helper()
	r.enter(tb, key, token, 0, func() bool { return true })
}

// EnterLease begins the use of the key of a lease, which is alone only while it is valid.
// The token must be larger than above, the result of [Register.Left] before the request.
func (r *Register) EnterLease(tb testing.TB, s *distlock.Lease, above uint64) {
	tb.Helper()
	r.enter(tb, s.Key(), s.Token(), above, func() bool { return s.Check() == nil })
}

// Leave ends the use of a key. It is called before the release.
func (r *Register) Leave(key string, token uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.of(key)
	delete(k.inside, token)
	k.left = max(k.left, token)
}

// Left returns the highest token that has left a key.
func (r *Register) Left(key string) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of(key).left
}

// Uses returns how often a holder has entered, of any key.
func (r *Register) Uses() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.uses
}

func (r *Register) of(key string) *resource {
	k := r.keys[key]
	if k == nil {
		k = &resource{inside: make(map[uint64]visit), seen: make(map[uint64]bool)}
		if r.keys == nil {
			r.keys = make(map[string]*resource)
		}
		r.keys[key] = k
	}
	return k
}

func (r *Register) enter(tb testing.TB, key string, token, above uint64, valid func() bool) {
	tb.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	k, strict := r.of(key), !r.lenient
	for other, v := range k.inside {
		if strict && v.strict && v.valid() && valid() {
			tb.Errorf("%q: a holder with token %d enters while %d is inside", key, token, other)
		}
	}
	switch {
	case k.seen[token]:
		tb.Errorf("%q: token %d is used twice", key, token)
	case token <= max(above, k.strict):
		tb.Errorf("%q: token %d after token %d", key, token, max(above, k.strict))
	}
	if strict {
		k.strict = max(k.strict, token)
	}
	k.seen[token], k.inside[token] = true, visit{strict, valid}
	r.uses++
}
