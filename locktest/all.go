package locktest

import (
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// acquireAll makes one attempt for all requests. It skips the case if the backend cannot
// do that for these keys.
func (f *fixture) acquireAll(rs ...driver.Request) ([]driver.Grant, error) {
	f.Helper()
	grants, err := f.acquirer.TryAcquireAll(f.Context(), rs)
	if errors.Is(err, errors.ErrUnsupported) {
		f.Skipf("the backend does not take these keys in one step: %v", err)
	}
	return grants, err
}

// tryAll acquires several free keys in one step.
func (f *fixture) tryAll(rs ...driver.Request) []driver.Grant {
	f.Helper()
	before := time.Now()
	grants, err := f.acquireAll(rs...)
	if err != nil || len(grants) != len(rs) {
		f.Fatalf("TryAcquireAll of %d free keys granted %d: %v", len(rs), len(grants), err)
	}
	for i, g := range grants {
		f.inspect(g, rs[i], before)
		f.releaseLater(f.backend, g)
	}
	return grants
}

// requests returns requests of new owners for n new keys.
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
		explanation: "TryAcquireAll must grant each key as TryAcquire does: it excludes other owners, and each grant is renewed and released alone.",
		needs:       []need{needsAll},
		run: func(f *fixture) {
			grants := f.tryAll(f.requests(5, long)...)
			for i, g := range grants {
				f.busy(f.request(g.Key, long))
				if status := f.renew(g); status != driver.Renewed {
					f.Errorf("renewal of grant %d: %v", i, status)
				}
				f.release(g)
				f.free(g.Key)
			}
		},
	},
	{
		name: "none-if-one-is-held",
		explanation: "If another owner has any of the keys, TryAcquireAll must take none: two callers that each hold a part " +
			"and wait for the rest would wait for each other.",
		needs: []need{needsAll},
		run: func(f *fixture) {
			for i := range 3 {
				rs := f.requests(3, long)
				held := f.try(f.request(rs[i].Key, long))
				_, err := f.acquireAll(rs...)
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
		explanation: "Of two TryAcquireAll with a key in common, one must get all its keys and the other none. The other must get them " +
			"when the first has released.",
		needs: []need{needsAll},
		run: func(f *fixture) {
			rs := f.requests(3, long)
			first := f.tryAll(rs[0], rs[1])
			others := func() []driver.Request {
				return []driver.Request{f.request(rs[2].Key, long), f.request(rs[1].Key, long)}
			}
			_, err := f.acquireAll(others()...)
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
		explanation: "TryAcquireAll by owners that have their keys must succeed, and the tokens must not be smaller: the first reply may have been lost.",
		needs:       []need{needsAll},
		run: func(f *fixture) {
			rs := f.requests(3, long)
			first := f.tryAll(rs...)
			for i, g := range f.tryAll(rs...) {
				f.mustRepeat(first[i], g)
				f.busy(f.request(g.Key, long))
			}
		},
	},
	{
		name:        "tokens-rise",
		explanation: "Tokens must rise for each key, whether it is acquired alone or with others.",
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
		explanation: "The lease of each key must end after its TTL if it is not renewed.",
		needs:       []need{needsAll, needsExpiry},
		run: func(f *fixture) {
			for _, g := range f.tryAll(f.requests(3, f.Lease)...) {
				f.seize(f.request(g.Key, long), f.Lease)
				f.mustHaveEnded(g)
			}
		},
	},
}
