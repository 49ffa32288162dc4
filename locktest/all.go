package locktest

import (
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// together asks for all at once. A backend that cannot do that for these keys ends
// the case.
func (f *fixture) together(rs ...driver.Request) ([]driver.Grant, error) {
	f.Helper()
	grants, err := f.acquirer.TryAcquireAll(f.Context(), rs)
	if errors.Is(err, errors.ErrUnsupported) {
		f.Skipf("the backend does not take these keys in one step: %v", err)
	}
	return grants, err
}

// tryAll asks for all at once, which are free.
func (f *fixture) tryAll(rs ...driver.Request) []driver.Grant {
	f.Helper()
	before := time.Now()
	grants, err := f.together(rs...)
	if err != nil || len(grants) != len(rs) {
		f.Fatalf("TryAcquireAll of %d free keys granted %d: %v", len(rs), len(grants), err)
	}
	for i, g := range grants {
		f.inspect(g, rs[i], before)
		f.releaseLater(f.backend, g)
	}
	return grants
}

// requests returns requests of fresh owners for n fresh keys.
func (f *fixture) requests(n int, ttl time.Duration) []driver.Request {
	rs := make([]driver.Request, n)
	for i := range rs {
		rs[i] = f.request(f.key(), ttl)
	}
	return rs
}

var allCases = []testCase{
	{
		name:        "each-is-granted",
		explanation: "Each of the keys is granted as TryAcquire does it: nobody else gets it, and each is renewed and released by itself.",
		needs:       []need{needsAll},
		run: func(f *fixture) {
			grants := f.tryAll(f.requests(5, long)...)
			for i, g := range grants {
				f.busy(f.request(g.Key, long))
				if status := f.renew(g); status != driver.Renewed {
					f.Errorf("renewal of number %d: %v", i, status)
				}
				f.release(g)
				f.free(g.Key)
			}
		},
	},
	{
		name: "none-if-one-is-held",
		explanation: "If another owner has one of the keys, whichever of them, none is taken: whoever gets some of what it needs " +
			"and waits for the rest may wait for somebody who waits for it.",
		needs: []need{needsAll},
		run: func(f *fixture) {
			for i := range 3 {
				rs := f.requests(3, long)
				held := f.try(f.request(rs[i].Key, long))
				_, err := f.together(rs...)
				f.mustBeHeld(driver.Grant{}, err)
				for j, r := range rs {
					if j != i {
						f.free(r.Key)
					}
				}
				f.release(held)
				f.free(held.Key)
			}
		},
	},
	{
		name: "one-of-two",
		explanation: "Of two that overlap one gets all keys and the other none, and what is given back by the one is there for " +
			"the other.",
		needs: []need{needsAll},
		run: func(f *fixture) {
			rs := f.requests(3, long)
			first := f.tryAll(rs[0], rs[1])
			others := func() []driver.Request {
				return []driver.Request{f.request(rs[2].Key, long), f.request(rs[1].Key, long)}
			}
			_, err := f.together(others()...)
			f.mustBeHeld(driver.Grant{}, err)
			for _, g := range first {
				f.release(g)
			}
			for _, g := range f.tryAll(others()...) {
				f.release(g)
			}
		},
	},
	{
		name:        "idempotent",
		explanation: "An owner that has its key already gets the same tokens again: a reply may have been lost.",
		needs:       []need{needsAll},
		run: func(f *fixture) {
			rs := f.requests(3, long)
			first := f.tryAll(rs...)
			for i, g := range f.tryAll(rs...) {
				if g.Token != first[i].Token || g.LastToken != first[i].LastToken {
					f.Errorf("number %d was granted %d to %d, and now %d to %d", i, first[i].Token, first[i].LastToken, g.Token, g.LastToken)
				}
				f.busy(f.request(g.Key, long))
			}
		},
	},
	{
		name:        "tokens-rise",
		explanation: "Tokens must rise for each key, however it was asked for before.",
		needs:       []need{needsAll, needsTokens},
		run: func(f *fixture) {
			rs := f.requests(3, long)
			last := make([]driver.Grant, len(rs))
			for round := range 4 {
				for i := range rs {
					rs[i].Owner, rs[i].Tokens = newOwner(), 16
				}
				var grants []driver.Grant
				if round%2 == 0 {
					grants = f.tryAll(rs...)
				} else {
					for _, r := range rs {
						grants = append(grants, f.try(r))
					}
				}
				for i, g := range grants {
					if round > 0 {
						f.mustRise(last[i], g)
					}
					f.release(g)
				}
				last = grants
			}
		},
	},
	{
		name:        "each-ends",
		explanation: "The lease of each key ends by itself if nobody renews it.",
		needs:       []need{needsAll, needsExpiry},
		run: func(f *fixture) {
			for _, g := range f.tryAll(f.requests(3, f.Lease)...) {
				f.seize(f.request(g.Key, long), f.Lease)
				f.mustHaveEnded(g)
			}
		},
	},
}
