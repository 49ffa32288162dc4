package distlock

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock/internal/compat"
	"github.com/distlock-go/distlock/internal/leasestate"
)

// Release gives the lock back; releasing a re-entry only ends the re-entry. It works
// even if ctx has ended, with a time limit of its own. The error wraps [ErrLost] if the
// lease was over before, and [ErrUnavailable] if the store did not answer before its end;
// Release then tries again in the background until the lease has expired. While [Opts].MinHold
// lasts, the key stays. Further calls do nothing and return the first result.
func (lease *Lease) Release(ctx context.Context) error {
	first, err := lease.end(ctx)
	if first {
		lease.tellReleased(err)
	}
	return err
}

// finish releases the lease when a locked function returns, panics or exits. The function
// defers it with the address of its error, which becomes the error of the call. A nil lease was
// not needed.
func (lease *Lease) finish(err *error) {
	var lost error
	if lease != nil {
		lost = lease.loss(*err, lease.Release(&lease.ctx))
	}
	*err = hasRun(*err, lost)
}

// loss returns the loss in the error of a release, unless the function's error names it. That
// a release failed is not the function's matter: the hooks are told, and it goes on in the
// background.
func (lease *Lease) loss(fnErr, released error) error {
	if !errors.Is(released, ErrLost) || walk(fnErr, lease.isLoss) {
		return nil
	}
	e := *released.(*Error)              //nolint:errorlint,forcetypeassert // made by fail
	if both, ok := e.Err.(*joined); ok { //nolint:errorlint // made by join
		e.Err = both.errs[0]
	}
	return &e
}

// isLoss reports whether err says that the lease was lost.
func (lease *Lease) isLoss(err error) bool {
	e, ok := err.(*Error) //nolint:errorlint // walk unwraps
	return ok && e.Key == lease.Key() && errors.Is(e.Err, ErrLost)
}

func (lease *Lease) tellReleased(err error) {
	if h := lease.engine.cfg.Hooks.Event; h != nil {
		e := lease.event(Released)
		e.Reentrant, e.Leader, e.Err = lease.reentered != nil, lease.leads, err
		h(&lease.ctx, e)
	}
}

// end releases the lease without calling hooks. It reports whether this is the first release:
// a hook that panics must not cause a second one.
func (lease *Lease) end(ctx context.Context) (first bool, err error) {
	lease.mu.Lock()
	defer lease.mu.Unlock()
	if lease.released {
		return false, lease.result
	}
	lease.released = true
	if lease.reentered != nil {
		lease.result = lease.endReentry()
	} else {
		lease.result = lease.giveBack(ctx)
	}
	return true, lease.result
}

// endReentry ends a re-entry.
func (lease *Lease) endReentry() error {
	err := lease.over()
	lease.ended.Store(true)
	if lease.alone {
		lease.reentered.entered.Store(false)
	}
	lease.untie()
	lease.ctx.end(leasestate.ErrReleased)
	return lease.fail("release", err)
}

// giveBack ends the lease, and passes it on.
func (lease *Lease) giveBack(ctx context.Context) (err error) {
	defer lease.engine.done(lease)
	now := time.Now()
	lost := lease.overAt(now)
	lease.ended.Store(true)
	// Deferred, because a context of the caller's own kind may panic when it is cancelled.
	defer func() { err = lease.fail("release", lease.passOn(ctx, lost, now)) }()
	lease.ctx.end(leasestate.ErrReleased)
	return nil
}

// done is called at the end of an acquisition that has begun, with the lease that came of it
// or nil.
func (eng *engine) done(lease *Lease) {
	if lease != nil {
		eng.leases.remove(lease)
	}
	eng.life.done()
}

// passOn hands the lease, unless it was lost, over to the next caller in this process, leaves it
// to the readers that share it, or gives it back to the store.
func (lease *Lease) passOn(ctx context.Context, lost error, now time.Time) error {
	eng, keep := lease.engine, lease.keepUntil()
	switch {
	case lost == leasestate.ErrHandedOff: //nolint:errorlint // that very value
		eng.queue.Exit(lease.Key(), false) // the key in the store is not this owner's
		return nil
	case lease.state.Class().Shares(), !keep.IsZero(), lease.asked(), !eng.handOver(lease.Key(), lease.state, now):
		return lease.leave(ctx, lost, keep)
	default:
		return lost
	}
}

// leave ends the holder's part in the lease and its admission to the key. The last holder
// releases the key in the store, or has it kept until the end of MinHold. leave returns why the
// lease was lost, also if only the store knew, and what went wrong.
func (lease *Lease) leave(ctx context.Context, lost error, keep time.Time) error {
	eng := lease.engine
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
	case err != nil && !errors.Is(err, ErrLost):
		return join(lost, unavailable(err))
	case err != nil && lost == nil:
		if end, _ := lease.state.Until(); !time.Now().Before(end) { // it was held when the holder left
			return unavailable(errLate)
		}
		lease.lost(errTaken)()
		return errTaken
	default:
		return lost
	}
}

// keepUntil returns the end of MinHold if that is not over, or the zero Time.
func (lease *Lease) keepUntil() time.Time {
	if lease == nil || lease.minHold == 0 || lease.noMinHold.Load() {
		return time.Time{}
	}
	_, began := lease.state.Holder()
	if until := began.Add(lease.minHold); time.Until(until) > 0 {
		return until
	}
	return time.Time{}
}

// asked reports whether the holder was asked to give the key back, and listened. Then the key
// goes back to the store: the next holder of the same lease would be told of a request to the
// one before, and whoever asked would wait. The caller has the mutex.
func (lease *Lease) asked() bool {
	select {
	case <-lease.revoked:
		return true
	default:
		return false // also if lease.revoked is nil
	}
}

// extendTimeout bounds the request whether a lease may be handed over further: the caller
// that gives out the last token waits for the answer.
const extendTimeout = 100 * time.Millisecond

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
		eng.releaser.settleLater(st.LastGrant(), time.Time{})
	}
}
