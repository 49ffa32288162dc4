package sqllock

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// touchInterval is how often a waiter says that it is still there.
const touchInterval = time.Second

// Acquire implements [driver.Queuer]. Its place in the queue is a row, and it looks at
// intervals whether its turn has come: the first in the queue often, the others seldom. A
// release in this process wakes it, and with [WithListener] a release in any.
//
// If no call has looked for 5 s on behalf of a place, those behind it may overtake it.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, err
	}
	w, leave := b.wakes.join(ctx, r.Owner)
	defer leave()
	g, err := b.acquire(ctx, &r, w)
	if w.isReleased() {
		// The place may have been taken again after the release.
		own := r.Grant()
		if _, _, err := b.release(context.WithoutCancel(ctx), &own); err != nil {
			return driver.Grant{}, err
		}
		return driver.Grant{}, errReleased
	}
	return g, err
}

func (b *Backend) acquire(ctx context.Context, r *driver.Request, w *waiter) (driver.Grant, error) {
	g, held, err := b.attempt(ctx, r)
	if err != nil || held == nil {
		return g, err
	}
	var touched time.Time // zero before there is a place
	for {
		looked := time.Now()
		wait, ok := time.Duration(1<<62), true
		if r.Backoff != nil {
			wait, ok = r.Backoff.Wait()
		}
		if !ok {
			return driver.Grant{}, held.heldError(r.Sharing())
		}
		if touched.IsZero() {
			wait = 0 // for a place in the queue
		}
		timer := time.NewTimer(min(wait, b.interval(held, r)))
		select {
		case <-timer.C:
		case <-w.woken:
		case <-w.released:
			timer.Stop()
			return driver.Grant{}, errReleased
		case <-b.ctx.Done():
			timer.Stop()
			return driver.Grant{}, errClosed
		case <-ctx.Done():
			timer.Stop()
			e := held.heldError(r.Sharing())
			e.RetryAfter = max(0, e.RetryAfter-time.Since(looked))
			return driver.Grant{}, fmt.Errorf("%w: %w", e, ctx.Err())
		}
		timer.Stop()
		if g, held, err = b.look(ctx, r, &touched); err != nil || held == nil {
			return g, err
		}
	}
}

// look finds out whether the owner's turn has come, and tries if it has. It returns the
// key as it is if not.
func (b *Backend) look(ctx context.Context, r *driver.Request, touched *time.Time) (driver.Grant, *entry, error) {
	if !touched.IsZero() {
		e, err := b.peek(ctx, r.Key)
		if err != nil {
			return driver.Grant{}, nil, err
		}
		if !e.mayGrant(r) && e.find(r.Owner) != nil {
			if time.Since(*touched) >= touchInterval {
				*touched = time.Now()
				err = b.touch(ctx, r)
			}
			return driver.Grant{}, e, err
		}
	}
	*touched = time.Now()
	return b.decide(ctx, r, true)
}

// touch says that the owner's waiter is still there.
func (b *Backend) touch(ctx context.Context, r *driver.Request) error {
	s := b.sql.touch
	return b.do(ctx, forAttempt, func(ctx context.Context, c *sql.Conn) error {
		_, err := c.ExecContext(ctx, s.text, s.args(values{"key": r.Key, "owner": r.Owner})...)
		return err
	})
}

// interval returns how long to wait before the next look.
func (b *Backend) interval(e *entry, r *driver.Request) time.Duration {
	ahead := e.ahead(r.Owner)
	d := 10*time.Millisecond + rand.N(40*time.Millisecond)
	switch {
	case b.wakes.working():
		d = touchInterval/2 + rand.N(touchInterval/2)
	case ahead > 0:
		d = 100*time.Millisecond + rand.N(200*time.Millisecond)
		return d * time.Duration(1+min(ahead, 64)/8)
	}
	if left := e.heldError(r.Sharing()).RetryAfter; ahead == 0 && left > 0 {
		d = min(d, left+time.Millisecond)
	}
	return d
}
