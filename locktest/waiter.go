package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// waiter is an Acquire on its own goroutine.
type waiter struct {
	request driver.Request
	start   time.Time
	cancel  context.CancelFunc
	done    chan struct{}  // closed when Acquire has returned
	told    chan<- *waiter // told then, if not nil
	grant   driver.Grant
	err     error
}

// wait starts an Acquire. Without a Backoff in r the Acquire looks again so late that only
// a message or the end of a lease can help it in time, and it ends if it is stuck.
func (f *fixture) wait(r driver.Request) *waiter {
	f.Helper()
	return f.waitOn(f.queue, r, nil)
}

func (f *fixture) waitOn(q driver.Queuer, r driver.Request, told chan<- *waiter) *waiter {
	f.Helper()
	if r.Backoff == nil {
		r.Backoff = driver.NewBackoff(2*patience, 2)
	}
	ctx, cancel := context.WithCancel(f.Context())
	w := &waiter{request: r, start: time.Now(), cancel: cancel, done: make(chan struct{}), told: told}
	go func() {
		w.grant, w.err = q.Acquire(ctx, r)
		close(w.done)
		if told != nil {
			told <- w
		}
	}()
	f.Cleanup(func() {
		cancel()
		select {
		case <-w.done:
		case <-time.After(5 * patience):
			f.Errorf("Acquire has not returned long after its context has ended")
			return
		}
		if b, ok := q.(driver.Backend); ok { // the owner still has its place
			_ = b.Release(context.WithoutCancel(ctx), r.Grant())
		}
	})
	return w
}

// takePlace takes a place in the queue with an Acquire that returns soon: the owner keeps
// the place until Release.
func (f *fixture) takePlace(r driver.Request) {
	f.Helper()
	f.takePlaceOn(f.queue, r)
}

func (f *fixture) takePlaceOn(q driver.Queuer, r driver.Request) {
	f.Helper()
	f.mustBeHeld(f.waitBriefly(q, r))
}

func (f *fixture) waitBriefly(q driver.Queuer, r driver.Request) (driver.Grant, error) {
	r.Backoff = driver.NewBackoff(5*time.Millisecond, 2)
	return q.Acquire(f.Context(), r)
}

// queueUp starts an Acquire for a key that is held, and returns when the owner is in the
// queue.
func (f *fixture) queueUp(r driver.Request) *waiter {
	f.Helper()
	return f.queueUpOn(f.queue, r, nil)
}

func (f *fixture) queueUpOn(q driver.Queuer, r driver.Request, told chan<- *waiter) *waiter {
	f.Helper()
	if f.Bubble {
		w := f.waitOn(q, r, told)
		f.calm()
		return w
	}
	f.takePlaceOn(q, r) // the queue cannot be seen from outside
	return f.waitOn(q, r, told)
}

// queueUpLooking starts an Acquire that looks again at intervals, because no message says
// that the lease of the holder has ended or was forgotten.
func (f *fixture) queueUpLooking(holder driver.Grant, r driver.Request, every time.Duration) *waiter {
	f.Helper()
	r.Backoff = driver.NewBackoff(every, 0)
	if f.Bubble {
		return f.queueUp(r)
	}
	g, err := f.waitBriefly(f.queue, r)
	if err == nil && !running(holder.Sent, holder.TTL) {
		f.releaseLater(f.backend, g)
		f.tooSlow()
	}
	f.mustBeHeld(g, err)
	return f.waitOn(f.queue, r, nil)
}

// served waits for the grant, which must come before the Backoff makes the Acquire look again.
func (w *waiter) served(f *fixture) driver.Grant {
	f.Helper()
	select {
	case <-w.done:
	case <-time.After(patience):
		f.Fatalf("not served within %v", patience)
	}
	if w.err != nil {
		f.Fatalf("Acquire, after %v: %v", time.Since(w.start), w.err)
	}
	f.inspect(w.grant, w.request, w.start)
	f.releaseLater(f.backend, w.grant)
	return w.grant
}

// failed waits for the error of an Acquire that cannot succeed.
func (w *waiter) failed(f *fixture, within time.Duration) error {
	f.Helper()
	select {
	case <-w.done:
	case <-time.After(within + f.soon()):
		f.Fatalf("Acquire has not returned after %v", time.Since(w.start))
	}
	if w.err == nil {
		f.Fatal("the key was granted although another owner holds it")
	}
	return w.err
}

// mustWait checks that w has not been served out of turn.
func (w *waiter) mustWait(f *fixture) {
	f.Helper()
	f.calm()
	select {
	case <-w.done:
		f.Fatalf("a waiter was served, or failed, out of turn: %v", w.err)
	default:
	}
}

// discard waits for an Acquire to return after its context has ended, and gives up what it
// has.
func (w *waiter) discard(f *fixture) {
	f.Helper()
	select {
	case <-w.done:
	case <-time.After(f.soon()):
		f.Fatal("Acquire has not returned although its context has ended")
	}
	if w.err != nil && !errors.Is(w.err, context.Canceled) {
		f.Errorf("Acquire with a cancelled context: %v", w.err)
	}
	f.giveUp(w.request)
}
