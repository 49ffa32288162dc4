package locktest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

// lockerCases are about a Locker with the backend: what the users of the backend get.
var lockerCases = []testCase{
	{
		name: "crowd",
		explanation: "Many goroutines of two processes that use a few keys must all be served, one at a time for each key, " +
			"with tokens that rise in the order of the grants.",
		run: func(f *fixture) {
			f.crowd(200, 1, f.key(), f.key(), f.key())
		},
	},
	{
		name: "turn-of-the-other",
		explanation: "However many goroutines of one process want a key, another process must get its turn: " +
			"the hand-overs inside a process must end, and its next request must not overtake the other in the store's queue.",
		needs: []need{needsQueue, needsPeer},
		run: func(f *fixture) {
			key := f.key()
			busy, other := f.locker(f.backend, distlock.Config{}), f.locker(f.peer().backend, distlock.Config{})
			var over atomic.Bool
			defer over.Store(true)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for !over.Load() && f.Context().Err() == nil {
						err := busy.Do(f.Context(), key, f.opts(), func(context.Context) error {
							time.Sleep(f.tick())
							return nil
						})
						if err != nil && f.Context().Err() == nil {
							f.Errorf("Do: %v", err)
						}
					}
				})
			}
			for range 3 {
				if err := f.do(other, key, nothing).result(f, patience); err != nil {
					f.Errorf("Do of the other process: %v", err)
				}
			}
			over.Store(true)
			wg.Wait()
			f.eventuallyFree(key)
		},
	},
	{
		name:        "waits-for-the-lock",
		explanation: "A call waits for the lock of another process, and gets it when that process releases it.",
		run: func(f *fixture) {
			key, g := f.hold(long)
			l := f.locker(f.last().backend, distlock.Config{})
			w := f.do(l, key, nothing)
			w.mustWait(f)
			f.release(g)
			if err := w.result(f, patience); err != nil {
				f.Errorf("Do after the release: %v", err)
			}
			f.eventuallyFree(key)
		},
	},
	{
		name: "cancelled-while-waiting",
		explanation: "If the context of a waiting caller ends, the error matches ErrNotAcquired and the error of the context, and nothing stays in the store: " +
			"neither a key nor a place in the queue.",
		run: func(f *fixture) {
			key, g := f.hold(long)
			l := f.locker(f.last().backend, distlock.Config{})
			w := f.do(l, key, f.unreachable)
			w.mustWait(f)
			w.cancel()
			err := w.result(f, patience)
			if !errors.Is(err, driver.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
				f.Errorf("Do with a cancelled context: %v", err)
			}
			f.calm() // the place is given up in the background
			f.release(g)
			f.eventuallyFree(key)
		},
	},
}

// crowd makes many goroutines, of two processes if there are two, run under the keys in
// turn, and checks the order.
func (f *fixture) crowd(goroutines, rounds int, keys ...string) {
	f.Helper()
	rooms := make([]room, len(keys))
	f.turns(goroutines, rounds, func(l *distlock.Locker, i, round int) error {
		k := (i + round) % len(keys)
		return l.Do(f.Context(), keys[k], f.opts(), func(ctx context.Context) error {
			lease, ok := distlock.FromContext(ctx)
			if !ok {
				return errors.New("no lease in the context")
			}
			rooms[k].visit(f, lease.Token(), f.tick())
			return lease.Check()
		})
	})
	visits := 0
	for k, key := range keys {
		visits += int(rooms[k].visits.Load())
		f.eventuallyFree(key)
	}
	if visits != goroutines*rounds {
		f.Errorf("%d visits, and %d were counted", goroutines*rounds, visits)
	}
}
