package locktest

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

// lockerCases are about a Locker with the backend: what the users of the backend get.
var lockerCases = []testCase{
	{
		name: "crowd",
		explanation: "Many goroutines of two processes that use a key must all be served, one at a time, " +
			"with tokens that rise in the order of the grants.",
		run: func(f *fixture) { f.crowd(driver.Sharing{}) },
	},
	{
		name: "loss-is-told",
		explanation: "If the store has forgotten the holder and granted the key to another owner, the next renewal cancels the context of the function " +
			"with cause ErrLost. Release reports ErrLost, and the new holder keeps the key.",
		needs: []need{needsDrop},
		run: func(f *fixture) {
			key := f.key()
			o := distlock.Opts{KeyTimeout: 2 * f.Lease}
			s, err := f.locker(f.backend, distlock.Config{}).Acquire(f.Context(), key, o)
			if err != nil {
				f.Fatalf("Acquire of a free key: %v", err)
			}
			f.Cleanup(func() { _ = s.Release(context.WithoutCancel(f.Context())) })
			f.Drop(f.T, f.backend, key)
			g := f.try(f.request(key, long))
			select {
			case <-s.Context().Done():
			case <-time.After(o.KeyTimeout + f.soon()):
				f.Fatal("the context of a lost lease has not ended")
			}
			f.mustBeLost(context.Cause(s.Context()))
			f.mustBeLost(s.Check())
			f.mustBeLost(s.Refresh(f.Context()))
			f.mustBeLost(s.Release(f.Context()))
			f.busy(f.request(key, long))
			f.want(f.renewAll(g), driver.Renewed)
			f.release(g)
		},
	},
}

// locker returns a Locker of this process, with the backend b, which it closes at the end of
// the case.
func (f *fixture) locker(b driver.Backend, cfg distlock.Config) *distlock.Locker {
	f.Helper()
	l := distlock.New(b, cfg)
	if c, ok := b.(io.Closer); ok {
		f.closed[c] = true
	}
	f.Cleanup(func() {
		if err := l.Close(); err != nil {
			f.Errorf("Close: %v", err)
		}
	})
	return l
}

// crowd makes many goroutines, of two processes if there are two, take turns in a room under
// one key, with each sharing of it in turn. With little time for hand-overs the key often goes
// from one process to the other.
func (f *fixture) crowd(sharings ...driver.Sharing) {
	f.Helper()
	const goroutines, rounds = 60, 3
	cfg := distlock.Config{HandOverTime: time.Millisecond}
	lockers := []*distlock.Locker{f.locker(f.backend, cfg)}
	if f.Peer != nil {
		lockers = append(lockers, f.locker(f.peer().backend, cfg))
	}
	key := f.key()
	var r room
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for round := range rounds {
				s := sharings[(i/2+round)%len(sharings)]
				// The interval is short for backends that are not a Queuer.
				o := distlock.Opts{KeyTimeout: long, RetryInterval: max(f.Lease/50, time.Millisecond), Mode: s.Mode, Permits: s.Permits}
				err := lockers[i%len(lockers)].Do(f.Context(), key, o, func(ctx context.Context) error {
					lease, _ := distlock.FromContext(ctx)
					r.visit(f, s, lease.Token(), f.tick())
					return lease.Check()
				})
				if err != nil {
					f.Errorf("Do: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if r.visits != goroutines*rounds {
		f.Errorf("%d visits, and %d were counted", goroutines*rounds, r.visits)
	}
	f.release(f.seize(f.request(key, long), 0)) // a Locker may release in the background
}
