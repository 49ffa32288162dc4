package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var cancelCases = []testCase{
	{
		name: "before-the-call",
		explanation: "A call with a context that has ended returns soon, and whatever it left behind, Release takes away: " +
			"the next in line must not wait for somebody who never came.",
		run: func(f *fixture) {
			ctx, end := context.WithCancel(f.Context())
			end()
			for _, key := range []string{f.heldKey(), f.key()} {
				r := f.request(key, long)
				r.Backoff = driver.NewBackoff(2*patience, 2)
				start := time.Now()
				_, _ = f.backend.TryAcquire(ctx, r) // may do or not do anything
				f.giveUp(r)
				if f.queue != nil {
					r.Owner = newOwner()
					if _, err := f.queue.Acquire(ctx, r); err != nil && !errors.Is(err, context.Canceled) {
						f.Errorf("Acquire with a cancelled context: %v", err)
					}
					f.giveUp(r)
				}
				if d := time.Since(start); d > f.soon() {
					f.Errorf("calls with a cancelled context took %v", d)
				}
			}
		},
	},
	{
		name:        "while-waiting",
		explanation: "When ctx ends, Acquire must return an error that wraps ctx.Err() soon: the caller may have gone, and its request may have a deadline.",
		needs:       []need{needsQueue},
		run: func(f *fixture) {
			key := f.heldKey()
			w := f.queueUp(f.request(key, long))
			w.cancel()
			if err := w.failed(f, 0); !errors.Is(err, context.Canceled) {
				f.Errorf("Acquire with a cancelled context: %v", err)
			}
			f.giveUp(w.request)

			start := time.Now() // before the deadline is counted from
			ctx, end := context.WithTimeout(f.Context(), f.Lease/5)
			defer end()
			r := f.request(key, long)
			r.Backoff = driver.NewBackoff(2*patience, 2)
			if _, err := f.queue.Acquire(ctx, r); !errors.Is(err, context.DeadlineExceeded) {
				f.Errorf("Acquire with a deadline: %v", err)
			}
			if d := time.Since(start); d < f.Lease/5 || d > f.Lease/5+f.soon() {
				f.Errorf("Acquire with a deadline of %v returned after %v", f.Lease/5, d)
			}
			f.giveUp(r)
		},
	},
	{
		name:        "next-in-line",
		explanation: "After a waiter's context has ended and it was released, no place of it is left: the next in line is served.",
		needs:       []need{needsQueue},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, long))
			first, second, third := f.queueUp(f.request(key, long)), f.queueUp(f.request(key, long)), f.queueUp(f.request(key, long))
			first.cancel()
			first.settle(f)
			third.cancel()
			third.settle(f)
			second.mustWait(f)
			f.release(g)
			f.release(second.served(f))
			f.free(key)
		},
	},
	{
		name:        "many-at-once",
		explanation: "Any number of waiters may leave at once, and nothing is left of them.",
		needs:       []need{needsQueue},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, long))
			var line []*waiter
			for range 200 {
				line = append(line, f.wait(f.request(key, long)))
			}
			for _, w := range line {
				w.cancel()
			}
			for _, w := range line {
				w.settle(f)
			}
			f.want(f.renewAll(g), driver.Renewed)
			f.release(g)
			f.free(key)
		},
	},
	{
		name: "grant-on-its-way",
		explanation: "A waiter whose context ends in the moment in which the key comes to it either has the grant or gives it up " +
			"by Release: the next in line must get it either way.",
		needs: []need{needsQueue},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, long))
			for range 30 {
				leaving, staying := f.queueUp(f.request(key, long)), f.queueUp(f.request(key, long))
				go leaving.cancel()
				f.release(g)
				leaving.settle(f)
				g = staying.served(f)
			}
			f.release(g)
			f.free(key)
		},
	},
}

// heldKey returns a key that somebody holds.
func (f *fixture) heldKey() string {
	f.Helper()
	return f.try(f.request(f.key(), long)).Key
}
