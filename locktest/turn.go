package locktest

import (
	"context"
	"slices"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var turnCases = []testCase{
	{
		name: "each-release",
		explanation: "After each release, in any process, Turn must tell a waiter to make an attempt, or have a grant for it: all waiters are served one after the other, " +
			"and none looks by itself. A channel must be closed when it tells no more.",
		run: func(p *process) {
			key, g := p.hold(long)
			var waiters []*waiter
			for _, where := range []*process{p, p, p.last(), p} {
				waiters = append(waiters, queueUp(where, p.request(key, long)))
			}
			for len(waiters) > 0 {
				p.release(g)
				i := anyServed(p, waiters)
				g = waiters[i].served(p)
				waiters = slices.Delete(waiters, i, i+1)
			}
			p.releaseLast(g)
		},
	},
	{
		name:        "before-the-watch",
		explanation: "A release between the refused attempt and Turn must not be missed: the channel must receive a value, or be closed, when the watch has begun.",
		run: func(p *process) {
			key, g := p.hold(long)
			r := p.request(key, long)
			_, err := p.ask(p.Context(), r)
			p.mustBeHeld(err)
			p.release(g)
			mustTell(p, p.waker.Turn(p.Context(), r), "of a release before the watch")
			p.giveUp(r)
			p.free(key)
		},
	},
	{
		name:        "others-leave",
		explanation: "The end of one watch must end no other.",
		run: func(p *process) {
			key, g := p.hold(long)
			gone, stays := queueUp(p, p.request(key, long)), queueUp(p, p.request(key, long))
			gone.cancel()
			gone.discard(p)
			p.calm()
			p.release(g)
			p.releaseLast(stays.served(p))
		},
	},
	{
		name:        "ends-with-the-context",
		explanation: "A watch must end with its context, and must not wait for somebody who receives: nobody does. Release gives up what was granted meanwhile.",
		run: func(p *process) {
			key, g := p.hold(long)
			r := p.request(key, long)
			_, err := p.ask(p.Context(), r)
			p.mustBeHeld(err)
			ctx, end := context.WithCancel(p.Context())
			p.waker.Turn(ctx, r)
			p.waker.Turn(p.Context(), r) // which nobody receives from either
			end()
			p.release(g)
			p.calm()
			p.giveUp(r)
			p.free(key)
		},
	},
}

// mustTell waits for a value, or the end of the channel.
func mustTell(p *process, turn <-chan driver.Grant, what string) {
	p.Helper()
	select {
	case <-turn:
	case <-time.After(patience):
		p.Fatalf("the waiter was not told %s within %v", what, patience)
	}
}

// anyServed waits until one of the waiters is served.
func anyServed(p *process, waiters []*waiter) int {
	p.Helper()
	for start := time.Now(); time.Since(start) < patience; time.Sleep(p.tick()) {
		for i, w := range waiters {
			select {
			case <-w.done:
				return i
			default:
			}
		}
	}
	p.Fatalf("no waiter was served within %v after a release", patience)
	return 0
}
