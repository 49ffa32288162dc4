package distlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/distlock-go/distlock/internal/compat"
	"github.com/distlock-go/distlock/internal/leasestate"
)

// cleanupTimeout is how long Close waits for clean-up in the background when no lease
// is held any more. A store that works needs no longer; in a store that does not work,
// leases expire by themselves.
const cleanupTimeout = releaseTimeout / 4

// extendTimeout bounds the request whether a lease may be handed over further: the caller
// that gives out the last token waits for the answer.
const extendTimeout = 100 * time.Millisecond

// release ends a lease, and passes it on.
func (eng *engine) release(ctx context.Context, lease *Lease) (err error) {
	defer eng.done(lease)
	now := time.Now()
	lost := lease.overAt(now)
	lease.ended.Store(true)
	// Deferred, because a context of the caller's own kind may panic when it is cancelled.
	defer func() { err = lease.fail("release", eng.passOn(ctx, lease, lost, now)) }()
	lease.cancel(leasestate.ErrReleased)
	return nil
}

// passOn hands a lease that was lost, or nil, over to the next caller in this process, leaves it
// to the readers that share it, or gives it back to the store.
func (eng *engine) passOn(ctx context.Context, lease *Lease, lost error, now time.Time) error {
	keep := lease.keepUntil()
	switch {
	case lost == leasestate.ErrHandedOff: //nolint:errorlint // that very value
		eng.queue.Exit(lease.Key(), false) // the key in the store is not this owner's
		return nil
	case lease.state.Class().Shares(), !keep.IsZero(), lease.asked(), !eng.handOver(lease.Key(), lease.state, now):
		return eng.leave(ctx, lease, lost, keep)
	default:
		return lost
	}
}

// handOver passes the caller's admission and the lease on to the next waiter. It returns
// false if it cannot; then the caller still has both.
func (eng *engine) handOver(key string, st *leaseState, now time.Time) bool {
	ok, pending := eng.queue.HandOver(key, st, now)
	if !ok && pending != nil {
		eng.extend(st)
		<-pending // one round trip; to release and acquire the key would be two
		ok, _ = eng.queue.HandOver(key, st, time.Now())
	}
	if ok {
		eng.extend(st)
	}
	return ok
}

// extend asks the store in the background, if that is due, whether others wait for the key.
// If not, the store issues more tokens.
func (eng *engine) extend(st *leaseState) {
	done, tokens := st.RequestExtend()
	if done == nil {
		return
	}
	eng.life.background(func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(eng.releaser.bg, min(extendTimeout, st.TTL()))
		defer cancel()
		g, err := eng.extender.Extend(ctx, st.LastGrant(), tokens)
		switch {
		case err == nil:
			st.Extend(g.Sent)
			st.Extended(g, time.Now())
		case errors.Is(err, ErrLost):
			eng.watchdog.remove(st)
			_ = st.Lose(errTaken) // does nothing if it was released meanwhile
		default:
			st.NotExtended()
		}
	})
}

// leave ends the holder's part in the lease and its admission to the key. The last holder
// releases the key in the store, or has it kept until the end of MinHold. leave returns why the
// lease was lost, also if only the store knew, and what went wrong.
func (eng *engine) leave(ctx context.Context, lease *Lease, lost error, keep time.Time) error {
	defer eng.queue.Exit(lease.Key(), false)
	last, over := lease.state.Leave(lease)
	if lost == nil {
		lost = over // just now, and the lease was told
	}
	if !last {
		return lost
	}
	// Unwatch first: a renewal that overtakes the release would keep the key.
	eng.watchdog.remove(lease.state)
	if lost != nil && !errors.Is(lost, ErrClosed) {
		keep = time.Time{} // it has no key to keep, unless it was lost because the Locker is closed
	}
	if pending := lease.state.ExtendRequested(); pending != nil && !keep.IsZero() {
		<-pending // it extends the lease
	}
	switch err := eng.releaser.Release(ctx, lease.state.LastGrant(), keep); {
	case err == nil:
		return lost
	case !errors.Is(err, ErrLost):
		return join(lost, unavailable(err))
	case lost == nil:
		lease.lost(errTaken)()
		return errTaken
	default:
		return lost
	}
}

// forward passes on what a caller of class c got that had given up: its admission, and
// perhaps a lease.
func (eng *engine) forward(key string, c compat.Class, st *leaseState) {
	if st != nil {
		if !c.Shares() && eng.handOver(key, st, time.Now()) {
			return
		}
		eng.discard(st)
	}
	eng.queue.Exit(key, st == nil && c.Sharing.Mode == Shared)
}

// discard gives back a lease that was passed on to a caller and not assigned to it, unless
// others share it.
func (eng *engine) discard(st *leaseState) {
	if last, _ := st.Leave(nil); last {
		eng.watchdog.remove(st)
		eng.releaser.ReleaseInBackground(st.LastGrant())
	}
}

// letGo releases the key of a lease that MaxHold has ended, although its function may go on:
// in this process the key stays closed until that returns, in others it is free.
func (eng *engine) letGo(st *leaseState) {
	if eng.life.begin() {
		defer eng.life.done()
		eng.releaser.ReleaseInBackground(st.LastGrant())
	}
}

// kept returns since when functions run whose leases are over, by the key: for each key with
// the prefix the oldest.
func (eng *engine) kept(prefix string) map[string]time.Time {
	since := make(map[string]time.Time)
	for _, lease := range eng.leases.all() {
		if !lease.acquired.Load() || !strings.HasPrefix(lease.Key(), prefix) || !lease.lingers(time.Now()) {
			continue
		}
		if began := since[lease.Key()]; began.IsZero() || lease.assigned.Since.Before(began) {
			since[lease.Key()] = lease.assigned.Since
		}
	}
	return since
}

// errForced is why a lease is over that this process has taken away.
var errForced = fmt.Errorf("%w: ForceRelease has taken the key away", ErrLost)

// taken returns a function that ends the leases of the key as of now.
func (eng *engine) taken(key string) func() {
	states := slices.DeleteFunc(eng.watchdog.watched(), func(st *leaseState) bool { return st.Key() != key })
	return func() {
		for _, st := range states {
			eng.watchdog.remove(st)
			_ = st.Lose(errForced)
		}
	}
}

// releaseAll releases what is still held when Close has waited long enough.
func (eng *engine) releaseAll() {
	var releases sync.WaitGroup
	slots := make(chan struct{}, 64)
	deadline := time.Now().Add(releaseTimeout)
	for _, st := range eng.watchdog.watched() {
		if time.Now().After(deadline) {
			break // the store does not answer; the leases run out by themselves
		}
		eng.watchdog.remove(st)
		slots <- struct{}{}
		releases.Go(func() {
			lease, _ := st.Holder()
			_ = eng.releaser.Once(st.LastGrant(), lease.keepUntil()) // no caller is left to be told
			<-slots
		})
	}
	releases.Wait()
}

// done is called at the end of an acquisition that has begun, with the lease that came of it
// or nil.
func (eng *engine) done(lease *Lease) {
	if lease != nil {
		eng.leases.remove(lease)
	}
	eng.life.done()
}
