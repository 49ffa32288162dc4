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
		explanation: "A call with a context that has ended must return soon, and a Release afterwards must remove all that it left: " +
			"later waiters must not wait for an owner that has gone.",
		run: func(f *fixture) {
			ctx, end := context.WithCancel(f.Context())
			end()
			held, _ := f.hold(long)
			for _, key := range []string{held, f.key()} {
				r := f.request(key, long)
				r.Backoff = driver.NewBackoff(2*patience, 2)
				start := time.Now()
				_, _ = f.backend.TryAcquire(ctx, r) // either result is right
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
		explanation: "When ctx ends, Acquire must soon return an error that wraps ctx.Err(): the caller has a deadline, or has gone.",
		needs:       []need{needsQueue},
		run: func(f *fixture) {
			key, _ := f.hold(long)
			w := f.queueUp(f.request(key, long))
			w.cancel()
			if err := w.result(f, f.soon()); !errors.Is(err, context.Canceled) {
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
		name:        "next-in-queue",
		explanation: "After the context of a waiter has ended and it was released, its place must be free: the next waiter is served.",
		needs:       []need{needsQueue},
		run: func(f *fixture) {
			key, g := f.hold(long)
			first, second, third := f.queueUp(f.request(key, long)), f.queueUp(f.request(key, long)), f.queueUp(f.request(key, long))
			first.cancel()
			first.discard(f)
			third.cancel()
			third.discard(f)
			second.mustWait(f)
			f.release(g)
			f.releaseLast(second.served(f))
		},
	},
	{
		name:        "many-at-once",
		explanation: "Any number of waiters may leave at once, and their places must be free then.",
		needs:       []need{needsQueue},
		run: func(f *fixture) {
			key, g := f.hold(long)
			var waiters []*waiter
			for range 200 {
				waiters = append(waiters, f.wait(f.request(key, long)))
			}
			for _, w := range waiters {
				w.cancel()
			}
			for _, w := range waiters {
				w.discard(f)
			}
			f.want(f.renewAll(g), driver.Renewed)
			f.releaseLast(g)
		},
	},
	{
		name: "grant-on-its-way",
		explanation: "The context of a waiter may end at the moment at which it is granted the key. Acquire then returns the grant, " +
			"or Release gives it up; either way the next waiter must get the key.",
		needs: []need{needsQueue},
		run: func(f *fixture) {
			key, g := f.hold(long)
			for range 30 {
				leaving, staying := f.queueUp(f.request(key, long)), f.queueUp(f.request(key, long))
				go leaving.cancel()
				f.release(g)
				leaving.discard(f)
				g = staying.served(f)
			}
			f.releaseLast(g)
		},
	},
}
