package locktest

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
)

// waiter is a caller that waits, on its own goroutine.
type waiter struct {
	request driver.Request
	start   time.Time
	cancel  context.CancelFunc
	done    chan struct{} // closed when it has returned
	grant   driver.Grant
	err     error
}

// result waits for the error of the waiter, or nil.
func (w *waiter) result(p *process, within time.Duration) error {
	p.Helper()
	select {
	case <-w.done:
		return w.err
	case <-time.After(within):
		p.Fatalf("the waiter has not returned after %v", time.Since(w.start))
		return nil
	}
}

// served waits for the grant, which must come before the waiter looks by itself.
func (w *waiter) served(p *process) driver.Grant {
	p.Helper()
	if err := w.result(p, patience); err != nil {
		p.Fatalf("the waiter, after %v: %v", time.Since(w.start), err)
	}
	p.inspect(w.grant, w.request, w.start)
	return w.grant
}

// mustWait checks that w has not been served out of turn. In virtual time it also knows that
// w waits.
func (w *waiter) mustWait(p *process) {
	p.Helper()
	p.calm()
	select {
	case <-w.done:
		p.Fatalf("a waiter was served, or failed, out of turn: %v", w.err)
	default:
	}
}

// discard waits for a waiter to return after its context has ended, and gives up what it
// has.
func (w *waiter) discard(p *process) {
	p.Helper()
	_ = w.result(p, p.soon())
	p.giveUp(w.request)
}

// inTurn makes waiters of all processes queue up for a key that has the given holders, and
// releases the holders in order. Each waiter must get the key as soon as all before it have
// it and Admits says so, and no sooner. A letter is a writer (w), a reader (r), or the holder of a
// permit (p).
func inTurn(p *process, holders, waiters string) {
	p.Helper()
	asks := map[rune]func(string, time.Duration) driver.Request{'w': p.request, 'r': p.reader, 'p': p.permit}
	key := p.key()
	var held []driver.Grant
	for _, letter := range holders {
		held = append(held, p.try(asks[letter](key, long)))
	}
	processes := []*process{p, p.last()}
	var queue []*waiter
	for i, letter := range waiters {
		queue = append(queue, queueUp(processes[i%2], asks[letter](key, long)))
	}
	for len(held) > 0 {
		for _, w := range queue {
			w.mustWait(p)
			p.busy(p.asking(key, w.request.Sharing())) // a newcomer
		}
		released := held[0]
		p.release(released)
		held = held[1:]
		for len(queue) > 0 && (len(held) == 0 || held[0].Sharing().Admits(len(held), queue[0].request.Sharing())) {
			next := queue[0].served(p)
			p.mustRise(released, next)
			held, queue = append(held, next), queue[1:]
		}
	}
	p.free(key)
}

// rarely is when a waiter looks by itself that only its turn or the end of a lease can help in
// time.
const rarely = 2 * patience

// wait starts a waiter that looks by itself at intervals. It is cancelled at the end of the case.
func wait(p *process, r driver.Request, every time.Duration) *waiter {
	p.Helper()
	ctx, cancel := context.WithCancel(p.Context())
	w := &waiter{request: r, start: time.Now(), cancel: cancel, done: make(chan struct{})}
	calls := await.Backend{Ask: p.ask}
	if p.waker != nil {
		calls.Turn = p.waker.Turn
	}
	go func() {
		defer close(w.done)
		w.grant, w.err = await.Grant(ctx, calls, r, await.Looks{Every: every})
	}()
	p.Cleanup(func() {
		cancel()
		select {
		case <-w.done: // the owner may still have its place
			_ = p.backend.Release(context.WithoutCancel(p.Context()), r.Grant())
		case <-time.After(5 * patience):
			p.Errorf("a waiter has not returned long after its context has ended")
		}
	})
	return w
}

// takePlace takes a place in the queue, which the owner keeps until Release.
func takePlace(p *process, r driver.Request) {
	p.Helper()
	_, err := p.ask(p.Context(), r)
	p.mustBeHeld(err)
}

// queueUp starts a waiter for a key that is held, and returns when the owner is in the
// queue.
func queueUp(p *process, r driver.Request) *waiter {
	p.Helper()
	if !p.Bubble || p.queue == nil {
		takePlace(p, r) // the queue cannot be seen from outside
	}
	w := wait(p, r, rarely)
	p.calm()
	return w
}

// queueUpLooking starts a waiter that looks again at intervals, because no message says
// that the lease of the holder has ended or was forgotten.
func queueUpLooking(p *process, holder driver.Grant, r driver.Request, every time.Duration) *waiter {
	p.Helper()
	before := time.Now()
	g, err := p.queue.Enqueue(p.Context(), r)
	if err == nil && !await.Running(holder.Sent, holder.TTL) {
		p.inspect(g, r, before)
		p.tooSlow()
	}
	p.mustBeHeld(err)
	w := wait(p, r, every)
	p.calm()
	return w
}
