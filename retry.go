package distlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/backoff"
)

// hintFloor is the shortest pause before an attempt that a HeldError brought forward: a
// store that keeps saying that the lease ends soon must not be asked all the time.
const hintFloor = 2 * time.Millisecond

// lastLook is how long an operation of the store that is in progress when MaxWait ends
// may continue. A store that works answers sooner. A silent store must not extend
// MaxWait to the length of its timeouts.
const lastLook = 500 * time.Millisecond

// takeGrant asks the backend until it grants the key, the budget is spent, ctx ends or the
// Locker is closed. It returns the time at which it got the answer. What a failure may leave in the store is released in the background.
func (l *Locker) takeGrant(ctx context.Context, lease *Lease, r driver.Request, wait bool, report *waitReport) (g driver.Grant, now time.Time, err error) {
	queues := wait && l.queuer != nil
	uncertain := false   // whether something may be left in the store
	told := false        // the waiters in this process were told what the store answered
	var backendErr error // of the last attempt, if it was not that another owner has the key
	attempt := ctx
	if queues {
		attempt = &lease.ctx // ends when the Locker is closed, too
	}
	_, until := lease.budget.MaxWait()
	if !until.IsZero() {
		until = until.Add(lastLook)
		var end context.CancelFunc
		attempt, end = context.WithDeadline(attempt, until) // the function never sees it
		defer end()
	}
	var watch keyWatch
	defer watch.end()
	if queues {
		report.inStore(r.Owner)
	}
	defer report.stop()
	for {
		if queues {
			g, err = l.queuer.Acquire(attempt, r)
		} else {
			g, err = l.backend.TryAcquire(attempt, r)
		}
		// A grant, and the place of an owner that a queue refuses, stay in the store.
		left := queues || !errors.Is(err, ErrNotAcquired)
		uncertain = uncertain || left && !errors.Is(err, driver.ErrNotSent)
		err = strip(err, until)
		if err == nil {
			now = time.Now()
			err = usable(&lease.ctx, g, now)
		}
		if err == nil {
			if report.stop() || told {
				l.tellWaiters(r.Key, nil, 0)
			}
			return g, now, nil
		}
		held := errors.Is(err, ErrNotAcquired)
		switch {
		case held:
			backendErr = nil
		case backendErr != nil && errors.Is(err, errSilent):
			err = backendErr
		case ctx.Err() == nil:
			backendErr = err
		case backendErr != nil && errors.Is(err, ctx.Err()):
			err = backendErr // ctx ended during an attempt, and hides why the attempts before it failed
		}
		var pause time.Duration
		more := false
		if !held || !queues { // a Queuer that says so has waited already
			pause, more = nextAttempt(ctx, &lease.budget, err)
		}
		if held && wait || !held && !errors.Is(err, ctx.Err()) {
			told = true
			l.tellWaiters(r.Key, err, pause)
		}
		if more && held {
			watch.begin(ctx, l.waker, r.Key)
		}
		if more && l.life.sleep(ctx, pause, watch.changed) {
			continue
		}
		if uncertain {
			l.releaser.ReleaseInBackground(r.Grant())
		}
		return driver.Grant{}, now, l.refusal(ctx, &lease.budget, l.markLocal(r.Key, err))
	}
}

// tellWaiters tells the waiters in this process what the store answered to the last
// attempt, or nothing if it granted the key. The next attempt begins after the pause. If it
// reports nothing for a while, it may be waiting in the store's queue.
func (l *Locker) tellWaiters(key string, err error, pause time.Duration) {
	const attempt = 2 * time.Second
	l.queue.SetBackendErr(key, err, time.Now().Add(pause+attempt))
}

// nextAttempt returns how long to pause after a failed attempt, and false if there is no
// other attempt. To repeat what the backend cannot do helps nobody.
func nextAttempt(ctx context.Context, b *backoff.Budget, err error) (time.Duration, bool) {
	if ctx.Err() != nil || errors.Is(err, errors.ErrUnsupported) {
		return 0, false
	}
	d, ok := b.Wait()
	if held := new(HeldError); ok && errors.As(err, &held) && held.RetryAfter > 0 {
		d = min(d, max(held.RetryAfter, hintFloor))
	}
	return d, ok
}

// keyWatch is what one acquisition watches while it waits. The zero value watches nothing.
type keyWatch struct {
	changed <-chan struct{} // receives a value when it is time for an attempt
	cancel  context.CancelFunc
}

// begin watches the key, unless it is watched already or the backend has no waker.
func (k *keyWatch) begin(ctx context.Context, w driver.Waker, key string) {
	if w == nil || k.cancel != nil {
		return
	}
	ctx, k.cancel = context.WithCancel(ctx)
	k.changed = w.Wake(ctx, key)
}

func (k *keyWatch) end() {
	if k.cancel != nil {
		k.cancel()
	}
}

// strip returns the error of an operation, whose context ended at until or not at all. If
// MaxWait ended the operation, strip removes the error of that context: the caller does not
// know it, and its own context goes on.
func strip(err error, until time.Time) error {
	if until.IsZero() || !errors.Is(err, context.DeadlineExceeded) || time.Now().Before(until) {
		return err
	}
	if held := new(HeldError); errors.As(err, &held) {
		return held
	}
	for _, known := range []error{ErrForeign, ErrNotAcquired} {
		if errors.Is(err, known) {
			return known
		}
	}
	if text := err.Error(); text != context.DeadlineExceeded.Error() {
		return fmt.Errorf("%w: %s", errSilent, text)
	}
	return errSilent
}
