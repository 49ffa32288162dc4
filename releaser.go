package distlock

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/rolling"
)

// releaseTimeout bounds one attempt to release a key, which may get a quarter less. The
// caller waits for the first attempt, so it is short; if the lease is shorter still, the
// attempt ends with the lease.
const releaseTimeout = 2 * time.Second

// releaser makes a store forget grants: with one attempt for a caller and, if that gets no
// answer, with more of them in the background.
type releaser struct {
	backend driver.Backend
	life    *lifetime // counts what runs in the background
	timeout *rolling.Timeout
	doubts  *doubts

	bg context.Context //nolint:containedctx // ends with the Locker
}

func newReleaser(ctx context.Context, b driver.Backend, life *lifetime) *releaser {
	r := &releaser{backend: b, life: life, timeout: rolling.New(releaseTimeout), bg: ctx}
	r.doubts = &doubts{life: life, settle: r.settle, wake: make(chan struct{}, 1), ctx: ctx}
	return r
}

// Release makes one attempt for a caller to release a grant or, if until is not zero, to keep its
// key until then. If there is no answer, it goes on in the background. The attempt is made even
// if ctx has ended: the lock of a request that was cancelled must not stay behind. The error
// wraps ErrLost if the store says that this owner does not have the key.
//
// One answer that the key is kept is enough. An earlier request of this owner may still reach
// the store, but no such request shortens a lease. If it lengthens this one, the release in the
// end comes first.
func (r *releaser) Release(ctx context.Context, g driver.Grant, until time.Time) error {
	own, end := r.outlive(ctx, g, time.Now())
	defer end()
	err := r.attempt(own, g, until)
	if errors.Is(err, ErrLost) {
		return err
	}
	if keepFor(until) > 0 { // also without an answer: the key may be kept
		r.releaseAt(until, g)
	}
	if err != nil {
		r.settleLater(g, until)
	}
	return err
}

// settleLater makes sure that nothing of the grant is left in the store, neither a key nor a
// place in the queue, or that its key is kept until then. It makes attempts in the background
// until one has an answer, or the lease has run out.
func (r *releaser) settleLater(g driver.Grant, until time.Time) {
	now := time.Now()
	d := &doubt{grant: g, until: until, end: now.Add(g.TTL), next: now}
	if !until.IsZero() {
		d.end = g.Sent.Add(g.TTL)
		if until.Before(d.end) {
			d.end = until
		}
	}
	r.doubts.add(d)
}

// settle makes an attempt for a grant in doubt. It returns true if nothing is in doubt any more.
func (r *releaser) settle(d *doubt) bool {
	err := r.Once(d.grant, d.until)
	return err == nil || errors.Is(err, ErrLost)
}

// Once makes one attempt in the background.
func (r *releaser) Once(g driver.Grant, until time.Time) error {
	ctx, cancel := context.WithTimeout(r.bg, min(releaseTimeout, g.TTL))
	defer cancel()
	return r.attempt(ctx, g, until)
}

// attempt releases the grant, or sets the TTL of the key to the time that is left until then.
// Even if the process crashes, the key then expires on time.
func (r *releaser) attempt(ctx context.Context, g driver.Grant, until time.Time) error {
	left := keepFor(until)
	if left == 0 {
		return r.backend.Release(ctx, g)
	}
	kept := g
	kept.TTL, kept.Retain = left, true
	return driver.RenewAll(ctx, r.backend, []driver.Grant{kept})[0]
}

// releaseAt releases a key at the end of the time for which it was kept, for stores in which
// keys do not expire. Until then it costs a timer, for which Close does not wait.
func (r *releaser) releaseAt(until time.Time, g driver.Grant) {
	ctx, cancel := context.WithTimeout(r.life.ctx, keepFor(until))
	context.AfterFunc(ctx, func() {
		defer cancel()
		if !r.life.begin() {
			return // the Locker was closed, and the timer stopped with it
		}
		defer r.life.done()
		r.settleLater(g, time.Time{})
	})
}

// outlive returns a context for one attempt to release g now: with the values of ctx, and a
// time of its own.
func (r *releaser) outlive(ctx context.Context, g driver.Grant, now time.Time) (context.Context, context.CancelFunc) {
	if g.TTL < releaseTimeout {
		return context.WithTimeout(context.WithoutCancel(ctx), g.TTL)
	}
	return r.timeout.Context(ctx, now), func() {}
}

// keepFor returns the time left until then, in whole milliseconds, rounded up: a store would
// take less than one for none. It uses the monotonic clock alone, which never runs ahead: a
// key that is kept too long costs a run, one that is kept too short runs twice.
func keepFor(until time.Time) time.Duration {
	left := time.Until(until)
	if left <= 0 {
		return 0
	}
	return (left + time.Millisecond - 1).Truncate(time.Millisecond)
}
