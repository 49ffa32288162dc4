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
	"github.com/distlock-go/distlock/internal/text"
)

// errTaken is why a lease is over if the store says so.
var errTaken = fmt.Errorf("%w: the store says that this owner does not have the key", ErrLost)

// taken is errTaken with what else the backend says. That is text only, because the cause
// of a loss must not match other errors.
func taken(why error) error {
	if why == nil {
		return errTaken
	}
	return fmt.Errorf("%w: %s", errTaken, text.OneLine(why))
}

// Lease is a lock that is held. It is safe for concurrent use.
//
// A Lease is valid until it is released or lost. [Lease.Check] compares the clock with
// the deadline, so it is right even if this process was paused.
type Lease struct {
	locker  *Locker
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

// cancel cancels the lease's context.
func (s *Lease) cancel(cause error) { s.ctx.end(cause) }

// Key returns the full key.
func (s *Lease) Key() string { return s.state.Key() }

// Token returns the fencing token; 0 if the backend does not provide tokens. No two leases
// of a key have the same token, except that a re-entry has the token of its lease. The
// token of an exclusive lease is larger than all earlier ones of the key, and smaller than
// all later ones. So a resource that remembers the largest can refuse a holder that was
// paused. Leases that may be held at the same time, by readers or with Permits, have tokens
// in any order: the resource must refuse a token only below a larger exclusive one.
func (s *Lease) Token() uint64 { return s.assigned.Token }

// Context returns the context of the acquisition, which carries the lease, and is cancelled
// with a cause that wraps [ErrLost] when it is over.
func (s *Lease) Context() context.Context { return &s.ctx }

// Check returns nil if the lease is valid by the clocks of this process, otherwise an
// error that wraps [ErrLost]; after an error it never returns nil again. It does no I/O.
// Call it before an operation, and before its commit.
func (s *Lease) Check() error { return s.fail("check", s.over()) }

// Until returns when the lease ends unless it is renewed, for example as the deadline of a
// transaction. It does no I/O. A store may give a waiter a short lease at first, which the
// watchdog renews soon; [Lease.Refresh] extends it at once.
func (s *Lease) Until() time.Time {
	end, _ := s.state.Until()
	return end
}

// Refresh extends the lease in the store to a full KeyTimeout from now, but not beyond
// MaxHold. The error wraps [ErrLost] if the lease is not held any more. If the store does
// not answer, it wraps [ErrUnavailable] and the lease is unchanged.
func (s *Lease) Refresh(ctx context.Context) error {
	st := s.state
	if err := s.over(); err != nil {
		return s.fail("refresh", err)
	}
	sent := time.Now()
	r := driver.RenewAll(ctx, s.locker.backend, []driver.Grant{st.Grant()})[0]
	switch r.Status {
	case driver.Renewed:
		st.Extend(sent)
		s.locker.watchdog.extended(st)
		return s.fail("refresh", s.over())
	case driver.Lost:
		s.locker.watchdog.remove(st)
		return s.fail("refresh", st.Lose(taken(r.Err)))
	default:
		st.NotRenewed(sent, r.Err)
		return s.fail("refresh", unavailable(r.Err))
	}
}

// Release gives the lock back; releasing a re-entry only ends the re-entry. It works
// even if ctx has ended, with a time limit of its own. The error wraps [ErrLost] if the
// lease was over before, and [ErrUnavailable] if the store did not answer; Release then
// tries again in the background until the lease has expired. While [Opts].MinHold
// lasts, the key stays. Further calls do nothing and return the first result.
func (s *Lease) Release(ctx context.Context) error {
	first, err := s.end(ctx)
	if first {
		s.tellReleased(err)
	}
	return err
}

// finish releases s when a locked function returns, panics or exits. The function defers it
// with the address of its error, which is then that of the call. Without a lease, which was
// not needed, s is nil.
func (s *Lease) finish(err *error) {
	var lost error
	if s != nil {
		lost = s.loss(*err, s.Release(&s.ctx))
	}
	*err = hasRun(*err, lost)
}

// loss returns the loss in the error of a release, unless the function's error names it. That
// a release failed is not the function's matter: the hooks are told, and it goes on in the
// background.
func (s *Lease) loss(fnErr, released error) error {
	if !errors.Is(released, ErrLost) || walk(fnErr, s.isLoss) {
		return nil
	}
	e := *released.(*Error)              //nolint:errorlint,forcetypeassert // made by fail
	if both, ok := e.Err.(*joined); ok { //nolint:errorlint // made by join
		e.Err = both.errs[0]
	}
	return &e
}

// isLoss reports whether err says that s was lost.
func (s *Lease) isLoss(err error) bool {
	e, ok := err.(*Error) //nolint:errorlint // walk unwraps
	return ok && e.Key == s.Key() && errors.Is(e.Err, ErrLost)
}

func (s *Lease) tellReleased(err error) {
	if h := s.locker.cfg.Hooks.Event; h != nil {
		e := s.event(Released)
		e.Reentrant, e.Leader, e.Err = s.reentered != nil, s.leads, err
		h(&s.ctx, e)
	}
}

// keepUntil returns the end of MinHold, or the zero Time.
func (s *Lease) keepUntil() time.Time {
	if s == nil || s.minHold == 0 || s.noMinHold.Load() {
		return time.Time{}
	}
	_, began := s.state.Holder()
	return began.Add(s.minHold)
}

// tellAcquired calls the hook. If the hook does not return, tellAcquired releases the
// lease, because no caller will get it.
func (s *Lease) tellAcquired(h func(context.Context, Event), wait time.Duration) {
	returned := false
	defer func() {
		if !returned { // a panic, or runtime.Goexit
			s.noMinHold.Store(true)
			_ = s.Release(&s.ctx)
		}
	}()
	e := s.event(Acquired)
	e.Held, e.Wait, e.Reentrant, e.HandedOver = 0, wait, s.reentered != nil, s.assigned.HandedOver
	h(&s.ctx, e)
	returned = true
}

// assign makes s a holder of st. It returns false if st is over, and whether the end of st
// has moved.
func (s *Lease) assign(st *leaseState, now, began time.Time, maxHold time.Duration) (ok, moved bool) {
	s.state = st // before st can tell s of a loss
	ok, moved = st.Assign(s, &s.assigned, now, began, maxHold)
	if !ok {
		s.state = nil
	}
	s.acquired.Store(ok)
	return ok, moved
}

// end releases s without calling hooks. It reports whether this is the first release:
// a hook that panics must not cause a second one.
func (s *Lease) end(ctx context.Context) (first bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return false, s.result
	}
	s.released = true
	if s.reentered != nil {
		s.result = s.endReentry()
	} else {
		s.result = s.locker.release(ctx, s)
	}
	return true, s.result
}

// over returns why the lease is over, or nil.
func (s *Lease) over() error { return s.overAt(time.Now()) }

func (s *Lease) overAt(now time.Time) error {
	for at := s; at != nil; at = at.reentered {
		if at.ended.Load() {
			return leasestate.ErrReleased
		}
	}
	return s.state.Check(now)
}

// reenter returns a lease for a caller that runs under s already, and asks for no more than
// s has.
func (s *Lease) reenter(ctx context.Context, innermost *Lease, opts *Opts) (*Lease, error) {
	if opts.Fencing && s.assigned.Token == 0 {
		return nil, ErrNoFencing
	}
	if err := s.over(); err != nil {
		return nil, err
	}
	switch {
	case opts.Reentry == ReentryNone:
		return nil, ErrReentry
	case !s.state.Class().Sharing.Covers(opts.sharing()):
		return nil, ErrUpgrade
	}
	if opts.Reentry == ReentryOne && !s.entered.CompareAndSwap(false, true) {
		return nil, errEntered
	}
	in := &Lease{
		locker: s.locker, name: opts.name(), state: s.state, alone: opts.Reentry == ReentryOne,
		assigned: leasestate.Assignment{Token: s.assigned.Token, Since: time.Now()}, outer: innermost, reentered: s,
	}
	in.ctx.lease, in.ctx.parent = in, ctx
	// ctx may have been cut off from the cancellation of the lease's context.
	in.untie = context.AfterFunc(&s.ctx, func() { in.cancel(context.Cause(&s.ctx)) })
	return in, nil
}

// errEntered refuses a re-entry for which another one would have to end first.
var errEntered = fmt.Errorf("%w: another call below the same holder is inside", ErrNotAcquired)

// endReentry ends a re-entry.
func (s *Lease) endReentry() error {
	err := s.over()
	s.ended.Store(true)
	if s.alone {
		s.reentered.entered.Store(false)
	}
	s.untie()
	s.cancel(leasestate.ErrReleased)
	return s.fail("release", err)
}

// find returns the lease of the key among s and the leases below which s was acquired.
func (s *Lease) find(l *Locker, key string) *Lease {
	for ; s != nil; s = s.outer {
		if s.locker == l && s.Key() == key {
			return s
		}
	}
	return nil
}

// lingers reports whether the lease is over and its function goes on.
func (s *Lease) lingers(now time.Time) bool { return !s.ended.Load() && s.overAt(now) != nil }

func (s *Lease) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Key: s.Key(), Err: err}
}

// renewed is called after each renewal of the lease while s is a holder. If the renewal
// failed, failed is true, and err is the reason, if known.
func (s *Lease) renewed(failed bool, err error, left time.Duration) {
	e := s.event(Renewed)
	e.Left = left
	if failed {
		e.Err = s.fail("renew", unavailable(err))
	}
	s.locker.life.background(func() { s.locker.cfg.Hooks.Event(&s.ctx, e) })
}

// lost is called once, when the lease is lost while s is a holder, and returns the function
// that tells s. From here on Close waits for the hook, because the lease may be released,
// and Close may be called, as soon as its context is cancelled.
func (s *Lease) lost(err error) (tell func()) {
	told := make(chan struct{})
	if h := s.locker.cfg.Hooks.Event; h != nil {
		e := s.event(Lost)
		e.Err = err
		s.locker.life.background(func() {
			<-told
			h(&s.ctx, e)
		})
	}
	return func() {
		s.cancel(s.fail("hold", err)) // below several leases the key tells which
		close(told)
	}
}

// event returns what the hooks are told of s in any case.
func (s *Lease) event(kind Kind) Event {
	sharing := s.state.Class().Sharing
	return Event{
		Kind: kind, Name: s.name, Key: s.Key(), Mode: sharing.Mode, Permits: sharing.Permits,
		Token: s.assigned.Token, Held: time.Since(s.assigned.Since),
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
func (s *Lease) Revoked() <-chan struct{} {
	if s.reentered != nil {
		return s.reentered.Revoked()
	}
	if s.locker.revoker == nil {
		return nil
	}
	s.watching.Do(func() {
		asked := s.locker.revoker.Revoked(&s.ctx, s.state.Grant())
		s.mu.Lock() // not before: a release does not wait
		defer s.mu.Unlock()
		s.revoked = asked
	})
	return s.revoked
}

// asked reports whether the holder was asked to give the key back, and listened. Then the key
// goes back to the store: the next holder of the same lease would be told of a request to the
// one before, and whoever asked would wait. The caller has the mutex.
func (s *Lease) asked() bool {
	select {
	case <-s.revoked:
		return true
	default:
		return false // also if s.revoked is nil
	}
}
