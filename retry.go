package distlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/backoff"
)

// hintFloor is the shortest pause before an attempt that a HeldError's hint
// brought forward: a store that keeps saying "any moment now" is not hammered.
const hintFloor = 2 * time.Millisecond

// takeGrant asks the backend until it grants, the budget is spent, ctx ends or
// the Locker is closed. Whatever may be left in the store after a failure is
// given up in the background. With the grant it tells whether an attempt got no
// answer: it may still come to the store, which then sets the lease anew.
func (l *Locker) takeGrant(ctx context.Context, s *Lease, r driver.Request, wait bool) (_ driver.Grant, stray bool, _ error) {
	queues := wait && l.queuer != nil
	uncertain := queues // in line, or an attempt whose outcome is unknown
	told := false       // the waiters behind were told what the store says
	var trouble error   // what the last attempt failed with, if it was not that another has the key
	asking := ctx
	if queues {
		asking = &s.ctx // ends when the Locker is closed, too
	}
	asking, limit := within(asking, &s.budget)
	defer limit.end()
	for {
		var g driver.Grant
		var err error
		if queues {
			g, err = l.queuer.Acquire(asking, r)
		} else {
			g, err = l.backend.TryAcquire(asking, r)
		}
		err = limit.own(err)
		if err == nil {
			uncertain = true // until it is accepted
			err = accept(&s.ctx, g)
		}
		if err == nil {
			if told {
				l.tellWaiters(r.Key, nil, 0)
			}
			return g, stray, nil
		}
		held := errors.Is(err, ErrNotAcquired)
		uncertain = uncertain || !held
		stray = stray || !held
		switch {
		case held:
			trouble = nil
		case trouble != nil && errors.Is(err, errSilent):
			err = trouble
		case ctx.Err() == nil:
			trouble = err
		case trouble != nil && errors.Is(err, ctx.Err()):
			err = trouble // ctx ended during an attempt, and hides why all before it were in vain
		}
		var pause time.Duration
		again := false
		if !held || !queues { // a Queuer that says so has waited already
			pause, again = nextAttempt(ctx, &s.budget, err)
		}
		if held && wait || !held && !errors.Is(err, ctx.Err()) {
			told = true
			l.tellWaiters(r.Key, err, pause)
		}
		if again && l.sleep(ctx, pause) {
			continue
		}
		if uncertain {
			l.releaseInBackground(r.Grant())
		}
		return driver.Grant{}, false, l.refusal(ctx, &s.budget, l.own(r.Key, err))
	}
}

// tellWaiters tells the waiters behind at the gate what the store answered to the last
// attempt, or nothing if it granted the key. The next attempt begins after the pause.
// If it reports nothing for a while, it may be waiting in the store's line.
func (l *Locker) tellWaiters(key string, err error, pause time.Duration) {
	const attempt = 2 * time.Second
	l.queue.SetBackendErr(key, err, time.Now().Add(pause+attempt))
}

// nextAttempt says how long to pause after a failed attempt, and false if there
// is none to come.
func nextAttempt(ctx context.Context, b *backoff.Budget, err error) (time.Duration, bool) {
	if ctx.Err() != nil {
		return 0, false
	}
	d, ok := b.Wait()
	if held := new(HeldError); ok && errors.As(err, &held) && held.RetryAfter > 0 {
		d = min(d, max(held.RetryAfter, hintFloor))
	}
	return d, ok
}

// sleep waits for d. It returns false if ctx ends or the Locker is closed first.
func (l *Locker) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-l.life.ctx.Done():
	}
	return false
}

// backendErr returns the error for a waiter that gives up while no holder in this process
// has the key: what the store last answered to the caller that asks it.
func (l *Locker) backendErr(key string) error {
	err, age := l.queue.BackendErr(key, time.Now())
	held := new(HeldError)
	switch {
	case err == nil:
		return held
	case errors.As(err, &held):
		return aged(held, age)
	case errors.Is(err, ErrNotAcquired):
		return err
	default:
		return unavailable(err)
	}
}

// aged returns e as it is after d has passed.
func aged(e *HeldError, d time.Duration) *HeldError {
	old := *e
	if old.Held > 0 {
		old.Held += d
	}
	old.RetryAfter = max(old.RetryAfter-d, 0)
	return &old
}

// refusal is what the caller is told after the last attempt ended with err.
func (l *Locker) refusal(ctx context.Context, b *backoff.Budget, err error) error {
	switch {
	case l.life.ctx.Err() != nil:
		return ErrClosed
	case ctx.Err() != nil:
		return ended(ctx, err)
	default:
		return spent(b, err)
	}
}

// spent is refusal for a wait that the context did not end.
func spent(b *backoff.Budget, err error) error {
	maxWait, _ := b.MaxWait()
	switch {
	case b.Over(time.Now()):
		return cutShort(fmt.Errorf("waited for MaxWait, %v", maxWait), err)
	case errors.Is(err, ErrNotAcquired):
		return err
	default:
		return unavailable(err)
	}
}

// ended says that ctx ended the wait, and what the last attempt said.
func ended(ctx context.Context, last error) error {
	end := ctx.Err()
	if errors.Is(last, end) && !errors.Is(last, ErrNotAcquired) {
		last = nil // nothing new
	}
	if cause := context.Cause(ctx); !errors.Is(cause, end) {
		end = fmt.Errorf("%w: %w", end, cause)
	}
	return cutShort(end, last)
}

// cutShort returns the error for the end of the wait. It also contains the result of
// the last attempt: the holder of the key, or how the backend failed.
func cutShort(end, last error) error {
	why := ErrNotAcquired
	if held := new(HeldError); errors.As(last, &held) {
		why = held
	} else if errors.Is(last, ErrForeign) {
		why = last
	}
	err := fmt.Errorf("%w: %w", why, end)
	if last != nil && !errors.Is(last, ErrNotAcquired) {
		err = fmt.Errorf("%w: %w", err, unavailable(last))
	}
	return err
}
