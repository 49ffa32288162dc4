package distlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/leasestate"
)

// Lease is a lock that is held. It is safe for concurrent use.
//
// A Lease is valid until it is released or lost. [Lease.Check] compares the clock with
// the deadline, so it is right even if this process was paused.
type Lease struct {
	engine  *engine
	name    string
	minHold time.Duration

	state     *leaseState
	assigned  leasestate.Assignment
	outer     *Lease // the lease below which it was acquired, of this key or another
	reentered *Lease // the lease that it re-enters, if it is a re-entry

	ctx       leaseCtx
	node      listNode    // in the list of the lifetime
	untie     func() bool // ends a re-entry's link to the context of the lease it re-entered
	acquired  atomic.Bool // state and assigned do not change any more
	ended     atomic.Bool // its holder gave it back; the state may go on with another
	entered   atomic.Bool // a re-entry of it with ReentryOne is inside
	alone     bool        // it is such a re-entry
	leads     bool        // it is a term of Lead
	noMinHold atomic.Bool // MinHold does not count, because no caller got the lease

	watching sync.Once // by Revoked

	mu       sync.Mutex // taken by Release and Revoked
	released bool
	result   error           // of Release
	revoked  <-chan struct{} // see Revoked
}

// Key returns the full key.
func (lease *Lease) Key() string { return lease.state.Key() }

// Token returns the fencing token; 0 if the backend does not provide tokens. No two leases
// of a key have the same token, except that a re-entry has the token of its lease. The
// token of an exclusive lease is larger than all earlier ones of the key, and smaller than
// all later ones. So a resource that remembers the largest can refuse a holder that was
// paused. Leases of readers, and with Permits, overlap, so their tokens have no order. The
// resource compares them only with exclusive ones.
func (lease *Lease) Token() uint64 { return lease.assigned.Token }

// Context returns the context of the acquisition, which carries the lease, and is cancelled
// with a cause that wraps [ErrLost] when it is over.
func (lease *Lease) Context() context.Context { return &lease.ctx }

// Check returns nil if the lease is valid by the clocks of this process, otherwise an
// error that wraps [ErrLost]; after an error it never returns nil again. It does no I/O.
// Call it before an operation, and before its commit.
func (lease *Lease) Check() error { return lease.fail("check", lease.over()) }

// Until returns when the lease ends unless it is renewed, for example as the deadline of a
// transaction. It does no I/O. A store may give a waiter a short lease at first, which the
// watchdog renews soon; [Lease.Refresh] extends it at once.
func (lease *Lease) Until() time.Time {
	end, _ := lease.state.Until()
	return end
}

// Refresh extends the lease in the store to a full KeyTimeout from now, but not beyond
// MaxHold. The error wraps [ErrLost] if the lease is not held any more. If the store does
// not answer, it wraps [ErrUnavailable] and the lease is unchanged.
func (lease *Lease) Refresh(ctx context.Context) error {
	st := lease.state
	if err := lease.over(); err != nil {
		return lease.fail("refresh", err)
	}
	if ctx.Err() != nil {
		return lease.fail("refresh", endOf(ctx))
	}
	sent := time.Now()
	err := driver.RenewAll(ctx, lease.engine.backend, []driver.Grant{st.Grant()})[0]
	switch {
	case err == nil:
		st.Extend(sent)
		return lease.fail("refresh", lease.over())
	case errors.Is(err, ErrLost):
		lease.engine.watchdog.remove(st)
		return lease.fail("refresh", st.Lose(taken(err)))
	default:
		st.NotRenewed(sent, err)
		return lease.fail("refresh", unanswered(ctx, err))
	}
}

// assign makes the lease a holder of st. It returns false if st is over, and whether the end of
// st has moved.
func (lease *Lease) assign(st *leaseState, now, began time.Time, maxHold time.Duration) (ok, moved bool) {
	lease.state = st // before st can tell it of a loss
	ok, moved = st.Assign(lease, &lease.assigned, now, began, maxHold)
	if !ok {
		lease.state = nil
	}
	lease.acquired.Store(ok)
	return ok, moved
}

// over returns why the lease is over, or nil.
func (lease *Lease) over() error { return lease.overAt(time.Now()) }

func (lease *Lease) overAt(now time.Time) error {
	for at := lease; at != nil; at = at.reentered {
		if at.ended.Load() {
			return leasestate.ErrReleased
		}
	}
	return lease.state.Check(now)
}

// reenter returns a lease for a caller that runs under this one already, and asks for no more
// than it has.
func (lease *Lease) reenter(ctx context.Context, innermost *Lease, opts *Opts) (*Lease, error) {
	if opts.Fencing && lease.assigned.Token == 0 {
		return nil, ErrNoFencing
	}
	if err := lease.over(); err != nil {
		return nil, err
	}
	switch {
	case opts.Reentry == ReentryNone:
		return nil, ErrReentry
	case !covers(lease.state.Class().Sharing, opts.sharing()):
		return nil, ErrUpgrade
	}
	if opts.Reentry == ReentryOne && !lease.entered.CompareAndSwap(false, true) {
		return nil, errEntered
	}
	in := &Lease{
		engine: lease.engine, name: opts.name(), state: lease.state, alone: opts.Reentry == ReentryOne,
		assigned: leasestate.Assignment{Token: lease.assigned.Token, Since: time.Now()}, outer: innermost, reentered: lease,
	}
	in.ctx.lease, in.ctx.parent = in, ctx
	// ctx may have been cut off from the cancellation of the lease's context.
	in.untie = context.AfterFunc(&lease.ctx, func() { in.ctx.end(context.Cause(&lease.ctx)) })
	return in, nil
}

// covers reports whether a holder that has s has all that o asks for, so that it may re-enter.
func covers(s, o driver.Sharing) bool {
	switch {
	case s.Permits > 0:
		return s.Permits <= o.Permits
	case s.Mode == Shared:
		return o.Mode == Shared
	default:
		return true
	}
}

// errEntered refuses a re-entry for which another one would have to end first.
var errEntered = fmt.Errorf("%w: another call below the same holder is inside", ErrNotAcquired)

// find returns the lease of the key among this one and the leases below which it was acquired.
func (lease *Lease) find(e *engine, key string) *Lease {
	for ; lease != nil; lease = lease.outer {
		if lease.engine == e && lease.Key() == key {
			return lease
		}
	}
	return nil
}

// lingers reports whether the lease is over and its function goes on.
func (lease *Lease) lingers(now time.Time) bool {
	return !lease.ended.Load() && lease.overAt(now) != nil
}

func (lease *Lease) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Key: lease.Key(), Err: err}
}

// renewed is called after each renewal of the state while the lease is a holder. If the renewal
// failed, failed is true, and err is the reason, if known.
func (lease *Lease) renewed(failed bool, err error, left time.Duration) {
	e := lease.event(Renewed)
	e.Left = left
	if failed {
		e.Err = lease.fail("renew", unavailable(err))
	}
	lease.engine.life.background(func() { lease.engine.cfg.Hooks.Event(&lease.ctx, e) })
}

// lost is called once, when the state is lost while the lease is a holder, and returns the
// function that tells the lease. From here on Close waits for the hook, because the lease may be
// released, and Close may be called, as soon as its context is cancelled.
func (lease *Lease) lost(err error) (tell func()) {
	told := make(chan struct{})
	if h := lease.engine.cfg.Hooks.Event; h != nil {
		e := lease.event(Lost)
		e.Err = err
		lease.engine.life.background(func() {
			<-told
			h(&lease.ctx, e)
		})
	}
	return func() {
		lease.ctx.end(lease.fail("hold", err)) // below several leases the key tells which
		close(told)
	}
}

// event returns what the hooks are told of the lease in any case.
func (lease *Lease) event(kind Kind) Event {
	sharing := lease.state.Class().Sharing
	return Event{
		Kind: kind, Name: lease.name, Key: lease.Key(), Mode: sharing.Mode, Permits: sharing.Permits,
		Token: lease.assigned.Token, Held: time.Since(lease.assigned.Since),
	}
}

// Revoked returns a channel that is closed when the holder is asked to give the key back: by
// Revoke of package admin in any process, or by Curator's Revoker. The lock stays held until
// it is released, at a moment that suits the function. The key then goes back to the store,
// and is not handed over within this process.
//
// The first call begins to watch, and returns when the store has confirmed that, at the latest
// after the time of one operation. Before it, a request may be missed. The channel is nil, so it
// is never ready, if the backend is not a [driver.Revoker].
func (lease *Lease) Revoked() <-chan struct{} {
	if lease.reentered != nil {
		return lease.reentered.Revoked()
	}
	if lease.engine.revoker == nil {
		return nil
	}
	lease.watching.Do(func() {
		asked := lease.engine.revoker.Revoked(&lease.ctx, lease.state.Grant())
		go lease.renewWhen(asked)
		lease.mu.Lock() // not before: a release does not wait
		defer lease.mu.Unlock()
		lease.revoked = asked
	})
	return lease.revoked
}

// renewWhen renews the lease as soon as the holder is asked to give the key back.
func (lease *Lease) renewWhen(asked <-chan struct{}) {
	select {
	case <-asked:
		lease.engine.watchdog.hasten(lease.state)
	case <-lease.ctx.Done():
	}
}
