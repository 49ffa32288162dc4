package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// touchInterval is how often a waiter says that it is still there. While the key has no
// exclusive holder, others need to know sooner, and a waiter says so at almost each look.
const touchInterval = time.Second

// looksToOvertake is how often a waiter finds only other waiters in its way before it overtakes
// them. Where everything is slow, they may only be late.
const looksToOvertake = 3

// Acquire implements [driver.Queuer]. Its place in the queue is a row, and it looks at
// intervals whether its turn has come: the first in the queue often, the others seldom. A
// release in this process wakes it, and with [Config].Listener a release in any.
//
// A place of a process that has died keeps a free key from those behind it for 0.6 s, once.
// If no call has looked for 5 s on behalf of a place, it keeps none from theirs.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, err
	}
	g, held, err := b.attempt(ctx, &r)
	if err != nil || held == nil {
		return g, err
	}
	woken, leave := b.wakes.join(r.Owner)
	defer leave()
	var touched time.Time // when the place was last said to be in use; zero before there is one
	var first time.Time   // since when it is the first in the queue; zero if it is not
	open := 0             // how many looks, one after the other, have found only waiters in the way
	for err == nil && held != nil {
		looked := time.Now()
		if open++; held.opens(&r) == 0 {
			open = 0
		}
		switch {
		case held.ahead(r.Owner) > 0:
			first = time.Time{}
		case first.IsZero():
			first = looked
		}
		wait, ok := time.Duration(math.MaxInt64), true
		if r.Backoff != nil {
			wait, ok = r.Backoff.Wait()
		}
		if !ok {
			return driver.Grant{}, held.heldError(r.Sharing())
		}
		if !touched.IsZero() {
			err := b.await(ctx, woken, min(wait, b.interval(held, &r, looked.Sub(first))))
			if err != nil && errors.Is(err, ctx.Err()) {
				e := held.heldError(r.Sharing())
				e.RetryAfter = max(0, e.RetryAfter-time.Since(looked))
				err = fmt.Errorf("%w: %w", e, err)
			}
			if err != nil {
				return driver.Grant{}, err
			}
		}
		g, held, err = b.look(ctx, &r, &touched, open < looksToOvertake-1)
	}
	return g, err
}

// await returns after d, or earlier if the waiter is woken. Its error says why the waiter
// has to stop.
func (b *Backend) await(ctx context.Context, woken <-chan struct{}, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-woken:
		return nil
	case <-b.ctx.Done():
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// look finds out whether the owner's turn has come, and tries if it has. It returns the
// key as it is if not. The first call takes a place in the queue.
func (b *Backend) look(ctx context.Context, r *driver.Request, touched *time.Time, patient bool) (driver.Grant, *entry, error) {
	if !touched.IsZero() {
		e, err := b.peek(ctx, forAttempt, r.Key)
		if err != nil {
			return driver.Grant{}, nil, err
		}
		e.patient = patient
		may := e.mayGrant(r)
		e.patient = false
		if !may && e.find(r.Owner) != nil {
			due := touchInterval
			if e.owner == "" {
				due /= 10
			}
			if time.Since(*touched) >= due {
				*touched = time.Now()
				err = b.touch(ctx, r)
			}
			return driver.Grant{}, e, err
		}
	}
	*touched = time.Now()
	return b.decide(ctx, r, true, patient)
}

// touch says that the owner's waiter is still there.
func (b *Backend) touch(ctx context.Context, r *driver.Request) error {
	return b.do(ctx, forAttempt, func(ctx context.Context, c *sql.Conn) error {
		_, err := b.sql.touch.exec(ctx, c, values{"key": r.Key, "owner": r.Owner})
		return err
	})
}

// interval returns how long to wait before the next look. The first in the queue looks
// often at first, and after a long wait in vain less often: a sixteenth of the wait later
// is soon. With messages the second looks as often as the first, because the message may be
// for a process that has died.
func (b *Backend) interval(e *entry, r *driver.Request, inVain time.Duration) time.Duration {
	ahead := e.ahead(r.Owner)
	d := 10*time.Millisecond + rand.N(40*time.Millisecond)
	switch {
	case b.wakes.working() && ahead < 2:
		d = 200*time.Millisecond + rand.N(200*time.Millisecond)
	case b.wakes.working():
		d = touchInterval/2 + rand.N(touchInterval/2)
	case ahead > 0:
		d = 100*time.Millisecond + rand.N(200*time.Millisecond)
		d *= time.Duration(1 + min(ahead, 64)/8)
	default:
		d += min(inVain/16, 200*time.Millisecond)
	}
	if left := e.heldError(r.Sharing()).RetryAfter; ahead == 0 && left > 0 {
		d = min(d, left+time.Millisecond)
	}
	if at := e.opens(r); at > 0 {
		d = min(d, 100*time.Millisecond+rand.N(200*time.Millisecond), max(50*time.Millisecond, micros(at-e.now)+time.Millisecond))
	}
	return d
}
