package locktest

import (
	"context"
	"time"
)

var cancelCases = []testCase{
	{
		name: "before-the-call",
		explanation: "A call with a context that has ended must return soon, and a Release afterwards must remove all that it left: " +
			"later waiters must not wait for an owner that has gone.",
		run: func(p *process) {
			ctx, end := context.WithCancel(p.Context())
			end()
			held, _ := p.hold(long)
			for _, key := range []string{held, p.key()} {
				r := p.request(key, long)
				start := time.Now()
				_, _ = p.backend.TryAcquire(ctx, r) // either result is right
				p.giveUp(r)
				if p.queue != nil {
					r.Owner = newOwner()
					if _, err := p.queue.Enqueue(ctx, r); err == nil && key == held {
						p.Errorf("Enqueue of a held key with a cancelled context: %v", err)
					}
					p.giveUp(r)
				}
				if d := time.Since(start); d > p.soon() {
					p.Errorf("calls with a cancelled context took %v", d)
				}
			}
		},
	},
	{
		name:        "next-in-queue",
		explanation: "After the context of a waiter has ended and it was released, its place must be free: the next waiter is served.",
		needs:       []need{needsQueue},
		run: func(p *process) {
			key, g := p.hold(long)
			first, second, third := queueUp(p, p.request(key, long)), queueUp(p, p.request(key, long)), queueUp(p, p.request(key, long))
			first.cancel()
			first.discard(p)
			third.cancel()
			third.discard(p)
			second.mustWait(p)
			p.release(g)
			p.releaseLast(second.served(p))
		},
	},
	{
		name:        "many-at-once",
		explanation: "Any number of waiters may leave at once, and their places must be free then.",
		needs:       []need{needsQueue},
		run: func(p *process) {
			key, g := p.hold(long)
			var waiters []*waiter
			for range 200 {
				waiters = append(waiters, wait(p, p.request(key, long), rarely))
			}
			for _, w := range waiters {
				w.cancel()
			}
			for _, w := range waiters {
				w.discard(p)
			}
			mustReport(p, renewAll(p, g), nil)
			p.releaseLast(g)
		},
	},
	{
		name: "grant-on-its-way",
		explanation: "The context of a waiter may end at the moment at which it is granted the key. Release then gives it up, " +
			"and the next waiter must get the key.",
		needs: []need{needsQueue},
		run: func(p *process) {
			key, g := p.hold(long)
			for range 30 {
				leaving, staying := queueUp(p, p.request(key, long)), queueUp(p, p.request(key, long))
				go leaving.cancel()
				p.release(g)
				leaving.discard(p)
				g = staying.served(p)
			}
			p.releaseLast(g)
		},
	},
}
