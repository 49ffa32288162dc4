package locktest

import (
	"context"
	"errors"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
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

// rarely is how a waiter looks by itself if only its turn or the end of a lease can help it in
// time. It ends if it is stuck.
var rarely = testkit.Looks{Every: 2 * patience, Attempts: 2}

// wait starts a waiter, which is cancelled at the end of the case.
func (f *fixture) wait(r driver.Request) *waiter { return f.waitLooking(r, rarely) }

func (f *fixture) waitLooking(r driver.Request, looks testkit.Looks) *waiter {
	f.Helper()
	ctx, cancel := context.WithCancel(f.Context())
	w := &waiter{request: r, start: time.Now(), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.grant, w.err = testkit.Await(ctx, f.queue, r, looks)
	}()
	f.Cleanup(func() {
		cancel()
		select {
		case <-w.done: // the owner may still have its place
			_ = f.backend.Release(context.WithoutCancel(f.Context()), r.Grant())
		case <-time.After(5 * patience):
			f.Errorf("a waiter has not returned long after its context has ended")
		}
	})
	return w
}

// takePlace takes a place in the queue, which the owner keeps until Release.
func (f *fixture) takePlace(r driver.Request) {
	f.Helper()
	_, err := f.queue.Enqueue(f.Context(), r)
	f.mustBeHeld(err)
}

// calm waits until all other goroutines wait. In real time that cannot be known, and it
// returns at once.
func (f *fixture) calm() {
	if f.Bubble {
		synctest.Wait()
	}
}

// queueUp starts a waiter for a key that is held, and returns when the owner is in the
// queue.
func (f *fixture) queueUp(r driver.Request) *waiter {
	f.Helper()
	if !f.Bubble {
		f.takePlace(r) // the queue cannot be seen from outside
	}
	w := f.wait(r)
	f.calm()
	return w
}

// queueUpLooking starts a waiter that looks again at intervals, because no message says
// that the lease of the holder has ended or was forgotten.
func (f *fixture) queueUpLooking(holder driver.Grant, r driver.Request, every time.Duration) *waiter {
	f.Helper()
	before := time.Now()
	g, err := f.queue.Enqueue(f.Context(), r)
	if err == nil && !running(holder.Sent, holder.TTL) {
		f.inspect(g, r, before)
		f.tooSlow()
	}
	f.mustBeHeld(err)
	w := f.waitLooking(r, testkit.Looks{Every: every})
	f.calm()
	return w
}

// result waits for the error of the waiter, or nil.
func (w *waiter) result(f *fixture, within time.Duration) error {
	f.Helper()
	select {
	case <-w.done:
		return w.err
	case <-time.After(within):
		f.Fatalf("the waiter has not returned after %v", time.Since(w.start))
		return nil
	}
}

// served waits for the grant, which must come before the waiter looks by itself.
func (w *waiter) served(f *fixture) driver.Grant {
	f.Helper()
	if err := w.result(f, patience); err != nil {
		f.Fatalf("the waiter, after %v: %v", time.Since(w.start), err)
	}
	f.inspect(w.grant, w.request, w.start)
	return w.grant
}

// mustWait checks that w has not been served out of turn. In virtual time it also knows that
// w waits.
func (w *waiter) mustWait(f *fixture) {
	f.Helper()
	f.calm()
	select {
	case <-w.done:
		f.Fatalf("a waiter was served, or failed, out of turn: %v", w.err)
	default:
	}
}

// discard waits for a waiter to return after its context has ended, and gives up what it
// has.
func (w *waiter) discard(f *fixture) {
	f.Helper()
	if err := w.result(f, f.soon()); err != nil && !errors.Is(err, context.Canceled) {
		f.Errorf("a waiter with a cancelled context: %v", err)
	}
	f.giveUp(w.request)
}
