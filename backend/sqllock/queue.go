package sqllock

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Enqueue implements [driver.Queuer]. The place in the queue is a row.
//
// A place of a process that has died keeps a free key from the others for 0.6 s,
// once. If no call has looked for 5 s on behalf of a place, it keeps nothing from them.
func (b *Backend) Enqueue(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, err
	}
	w := b.wakes.find(r.Owner)
	if w == nil {
		g, held, err := b.attempt(ctx, &r)
		if err != nil || held == nil {
			return g, err
		}
		w = b.wakes.join(r.Owner)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin()
	g, held, err := b.look(ctx, &r, w)
	switch {
	case err != nil:
		w.next.Reset(touchInterval)
	case held != nil:
		w.next.Reset(b.interval(held, &r, w.found(held, &r), time.Since(w.began)))
		err = held.heldError(r.Sharing())
	}
	return g, err
}

// Turn implements [driver.Waker]. The channel receives at intervals: often for the
// first in the queue, seldom for the others. A release in this process wakes the next
// one, and with a Listener a release in any.
func (b *Backend) Turn(_ context.Context, r driver.Request) <-chan driver.Grant {
	if w := b.wakes.find(r.Owner); w != nil {
		return w.turn
	}
	now := make(chan driver.Grant)
	close(now) // the next attempt takes a place
	return now
}

// look finds out whether the owner's turn has come, and tries if it has. It returns the
// key as it is if not. The first call takes a place in the queue.
func (b *Backend) look(ctx context.Context, r *driver.Request, w *waiter) (driver.Grant, *entry, error) {
	if b.background.Err() != nil {
		return driver.Grant{}, nil, errClosed
	}
	if !w.touched.IsZero() {
		e, err := b.peek(ctx, forAttempt, r.Key)
		if err != nil {
			return driver.Grant{}, nil, err
		}
		e.patient = !w.open
		may := e.mayGrant(r)
		e.patient = false
		if !may && e.find(r.Owner) != nil {
			due := touchInterval
			if e.owner == "" {
				due /= 10
			}
			if time.Since(w.touched) >= due {
				w.touched = time.Now()
				err = b.touch(ctx, r)
			}
			return driver.Grant{}, e, err
		}
	}
	w.touched = time.Now()
	return b.decide(ctx, r, true, !w.open)
}

// touch says that the owner's waiter is still there.
func (b *Backend) touch(ctx context.Context, r *driver.Request) error {
	return b.do(ctx, forAttempt, func(ctx context.Context, c *sql.Conn) error {
		_, err := b.sql.touch.exec(ctx, c, values{"key": r.Key, "owner": r.Owner})
		return err
	})
}

// interval returns how long to wait before the next look. The first in the queue looks
// often at first, and after a long wait in vain less often: a sixteenth of the wait
// later is soon. With messages the second looks as often as the first, because the
// message may be for a process that has died. Without them a look comes after an eighth of
// the wait so far, so that the key stands still for little of the time; the later ones in a
// long queue look later.
func (b *Backend) interval(e *entry, r *driver.Request, inVain, waited time.Duration) time.Duration {
	ahead := e.ahead(r.Owner)
	d := 10*time.Millisecond + rand.N(40*time.Millisecond)
	switch {
	case b.wakes.works.Load() && ahead < 2:
		d = 200*time.Millisecond + rand.N(200*time.Millisecond)
	case b.wakes.works.Load():
		d = touchInterval/2 + rand.N(touchInterval/2)
	case ahead > 0:
		d = 100*time.Millisecond + rand.N(200*time.Millisecond)
		d *= time.Duration(1 + min(ahead, 64)/8)
	default:
		d += min(inVain/16, 200*time.Millisecond)
	}
	if !b.wakes.works.Load() {
		d = min(d, max(waited/8, time.Millisecond)*time.Duration(1+min(ahead, 64)/8))
	}
	if at := e.opens(r); at > 0 {
		d = min(d, 100*time.Millisecond+rand.N(200*time.Millisecond), max(50*time.Millisecond, micros(at-e.now)+time.Millisecond))
	}
	return max(d, b.wakes.spread())
}
