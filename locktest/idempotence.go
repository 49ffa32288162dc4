package locktest

import (
	"time"

	"github.com/distlock-go/distlock/driver"
)

var idempotenceCases = []testCase{
	{
		name: "same-owner-again",
		explanation: "TryAcquire by the owner that holds the key must succeed, and its tokens must not be smaller than at first: a reply can be lost after the store has acted, " +
			"and an owner that tries again must not wait for itself.",
		run: func(f *fixture) {
			key := f.key()
			r := f.request(key, long)
			r.Tokens = 8
			first := f.try(r)
			for range 3 {
				f.mustRepeat(first, f.try(r))
			}
			f.busy(f.request(key, long))
			f.release(first) // once is enough
			f.free(key)
		},
	},
	{
		name: "extends-the-lease",
		explanation: "An owner that acquires again must get a lease from then on, with the TTL of that request and not of the first: " +
			"the Locker counts from the last request.",
		needs: []need{needsExpiry},
		run: func(f *fixture) {
			r := f.request(f.key(), f.Lease)
			f.keepAlive(f.try(r), func() (time.Time, bool) {
				g, err := f.backend.TryAcquire(f.Context(), r)
				return g.Sent, err == nil
			})
			r.TTL = 4 * f.Lease
			g := f.try(r)
			time.Sleep(2 * f.Lease)
			f.mustStillHold(g)
		},
	},
	{
		name:        "acquire-again",
		explanation: "Acquire must be idempotent like TryAcquire: the holder must not wait for itself.",
		needs:       []need{needsQueue},
		run: func(f *fixture) {
			key := f.key()
			r := f.request(key, long)
			first := f.try(r)
			w := f.wait(r)
			again := w.served(f)
			f.mustRepeat(first, again)
			f.releaseLast(again)
		},
	},
}

// mustRepeat checks the grant of a repeated request: its tokens are not smaller than those of
// the first one, of which the caller may not know.
func (f *fixture) mustRepeat(first, again driver.Grant) {
	f.Helper()
	if again.Token < first.Token || again.LastToken < first.LastToken || (again.Token == 0) != (first.Token == 0) {
		f.Errorf("tokens %d to %d at first, then %d to %d", first.Token, first.LastToken, again.Token, again.LastToken)
	}
}

// mustStillHold checks that no other owner gets the key while the lease runs.
func (f *fixture) mustStillHold(g driver.Grant) {
	f.Helper()
	other, err := f.backend.TryAcquire(f.Context(), f.request(g.Key, long))
	if err != nil {
		return
	}
	if running(g.Sent, g.TTL) {
		f.Errorf("another owner got the key %v after the last request of the holder, with a lease of %v", time.Since(g.Sent), g.TTL)
	}
	f.release(other)
}

// keepAlive calls extend often, for several times the TTL of g, and checks that no other
// owner gets the key. It returns g as it was extended last.
func (f *fixture) keepAlive(g driver.Grant, extend func() (sent time.Time, ok bool)) driver.Grant {
	f.Helper()
	for end := time.Now().Add(5 * g.TTL / 2); time.Now().Before(end); time.Sleep(g.TTL / 10) {
		f.mustStillHold(g)
		sent, ok := extend()
		switch {
		case ok:
			g.Sent = sent
		case running(g.Sent, g.TTL):
			f.Fatalf("the holder lost the key %v after its last request, with a lease of %v", time.Since(g.Sent), g.TTL)
		default:
			f.tooSlow()
		}
	}
	return g
}
