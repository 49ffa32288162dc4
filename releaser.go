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
	r.doubts = newDoubts(ctx, life, r.settle, r.expire)
	return r
}

// Release makes one attempt to release a grant for a caller, and goes on in the background
// if there is no answer. The attempt is made even if ctx has ended: the lock of a request
// that was cancelled must not stay behind. The error wraps ErrLost if the store says that
// this owner does not have the key.
func (r *releaser) Release(ctx context.Context, g driver.Grant) error {
	own, end := r.outlive(ctx, g, time.Now())
	defer end()
	err := r.backend.Release(own, g)
	if err != nil && !errors.Is(err, ErrLost) {
		r.ReleaseInBackground(g)
	}
	return err
}

// ReleaseInBackground makes sure that nothing of the grant is left in the store: neither a
// key nor a place in the queue. The release, or the grant, may have had no answer.
func (r *releaser) ReleaseInBackground(g driver.Grant) {
	now := time.Now()
	r.doubts.add(&doubt{grant: g, end: now.Add(g.TTL), next: now})
}

// Keep asks the store once for a caller to keep the key of a grant until a time. If there is
// no answer, it goes on in the background until there is one or the lease has run out.
//
// One answer is enough. An earlier request of this owner may still reach the store, but no
// such request shortens a lease. If it lengthens this one, the release in the end comes first.
func (r *releaser) Keep(ctx context.Context, g driver.Grant, until time.Time) error {
	own, end := r.outlive(ctx, g, time.Now())
	defer end()
	err := r.keep(own, g, until)
	switch {
	case err == nil:
		r.releaseAt(until, g)
	case !errors.Is(err, ErrLost):
		end := g.Sent.Add(g.TTL)
		if until.Before(end) {
			end = until
		}
		r.doubts.add(&doubt{grant: g, until: until, end: end, next: time.Now()})
	}
	return err
}

// settle makes an attempt for a grant in doubt. It returns true if nothing is in doubt any more.
func (r *releaser) settle(d *doubt) bool {
	err := r.Once(d.grant, d.until)
	if err == nil && !d.until.IsZero() {
		r.releaseAt(d.until, d.grant)
	}
	return err == nil || errors.Is(err, ErrLost)
}

// expire is called when the lease of a grant in doubt has run out. A key that was to be kept
// may have been, and in some stores it does not expire.
func (r *releaser) expire(d *doubt) {
	if !d.until.IsZero() {
		r.releaseAt(d.until, d.grant)
	}
}

// Once makes one attempt in the background to release a grant, or to keep it until a time
// that is not over.
func (r *releaser) Once(g driver.Grant, until time.Time) error {
	ctx, cancel := context.WithTimeout(r.bg, min(releaseTimeout, g.TTL))
	defer cancel()
	if keepFor(until) > 0 {
		return r.keep(ctx, g, until)
	}
	return r.backend.Release(ctx, g)
}

// keep sets the TTL of the key to the time that is left, at least a millisecond. Even if the
// process crashes, the key then expires on time.
func (r *releaser) keep(ctx context.Context, g driver.Grant, until time.Time) error {
	g.TTL, g.Retain = max(keepFor(until), time.Millisecond), true
	err := driver.RenewAll(ctx, r.backend, []driver.Grant{g})[0]
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrLost):
		return taken(err)
	default:
		return unavailable(err)
	}
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
		r.ReleaseInBackground(g)
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
	if until.IsZero() {
		return 0
	}
	left := time.Until(until)
	if left <= 0 {
		return 0
	}
	return (left + time.Millisecond - 1).Truncate(time.Millisecond)
}
