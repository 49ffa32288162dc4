package locktest

import (
	"context"
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
				start := time.Now()
				_, _ = f.backend.TryAcquire(ctx, r) // either result is right
				f.giveUp(r)
				if f.queue != nil {
					r.Owner = newOwner()
					if _, err := f.queue.Enqueue(ctx, r); err == nil && key == held {
						f.Errorf("Enqueue of a held key with a cancelled context: %v", err)
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
		explanation: "The context of a waiter may end at the moment at which it is granted the key. Release then gives it up, " +
			"and the next waiter must get the key.",
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
