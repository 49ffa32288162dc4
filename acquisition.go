package distlock

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/bridge"
	"github.com/distlock-go/distlock/internal/compat"
	"github.com/distlock-go/distlock/internal/leasestate"
	"github.com/distlock-go/distlock/internal/owner"
)

// acquisition is one call of [Locker.Acquire], from the hooks to the lease:
//
//	run       calls the hooks
//	enter     decides between a re-entry and a lease of its own
//	own       gets one of its own, while a waitReport tells how long it takes:
//	queue     waits for the other callers in this process
//	takeOver  takes the lease that the caller before passed on, if it did
//	ask       otherwise asks the store: asking.go
//	accept    makes the grant the lease
type acquisition struct {
	engine    *engine
	ctx       context.Context //nolint:containedctx // of the hook Start, for one call
	key       string          // the full key
	opts      Opts            // checked, with defaults; by value, to stay off the heap
	class     compat.Class
	budget    budget
	outer     *Lease // the innermost lease that ctx carries
	report    *waitReport
	begun     time.Time // zero without a hook, and before it began
	candidate bool      // of Lead
	handle    *handoff  // of Adopt
}

// newAcquisition begins the acquisition of a full key under checked options with defaults.
func (eng *engine) newAcquisition(ctx context.Context, key string, opts *Opts) acquisition {
	a := acquisition{engine: eng, ctx: ctx, key: key, opts: *opts}
	opts.start(&a.budget)
	return a
}

// refuse tells the hooks of an acquisition that ends before it begins, because of its options
// or its key, and returns err. Some callers, such as schedulers, drop the error.
func (eng *engine) refuse(ctx context.Context, key string, opts *Opts, err error) error {
	a := acquisition{engine: eng, ctx: ctx, key: key, opts: *opts}
	a.tellStart()
	a.tellFailed(err)
	return err
}

func (a *acquisition) run() (*Lease, error) {
	if a.engine.cfg.Hooks.Event != nil {
		a.begun = time.Now()
	}
	a.tellStart()
	lease, err := a.enter()
	if err != nil {
		err = a.opts.notAcquired(a.key, err)
		a.tellFailed(err)
		return nil, err
	}
	a.tellAcquired(lease)
	return lease, nil
}

func (a *acquisition) tellStart() {
	if h := a.engine.cfg.Hooks.Start; h != nil {
		a.ctx = h(a.ctx, newEvent("", a.key, &a.opts))
	}
}

func (a *acquisition) tellFailed(err error) {
	h := a.engine.cfg.Hooks.Event
	if h == nil {
		return
	}
	e := newEvent(Failed, a.key, &a.opts)
	if e.Err = err; !a.begun.IsZero() {
		e.Wait = time.Since(a.begun)
	}
	h(a.ctx, e)
}

// tellAcquired calls the hook. If the hook does not return, tellAcquired releases the
// lease, because no caller will get it.
func (a *acquisition) tellAcquired(lease *Lease) {
	h := a.engine.cfg.Hooks.Event
	if h == nil {
		return
	}
	returned := false
	defer func() {
		if !returned { // a panic, or runtime.Goexit
			lease.noMinHold.Store(true)
			_ = lease.Release(&lease.ctx)
		}
	}()
	e := lease.event(Acquired)
	e.Held, e.Wait = 0, time.Since(a.begun)
	e.Reentrant, e.HandedOver = lease.reentered != nil, lease.assigned.HandedOver
	h(&lease.ctx, e)
	returned = true
}

// enter re-enters the lease of the key that ctx carries. If ctx carries none, the caller waits
// for a lease of its own. It never waits for the process that sent its call.
func (a *acquisition) enter() (*Lease, error) {
	a.outer, _ = FromContext(a.ctx)
	if lease := a.outer.find(a.engine, a.key); lease != nil {
		if a.handle != nil {
			return nil, ErrReentry
		}
		return lease.reenter(a.ctx, a.outer, &a.opts)
	}
	if bridge.CarriedBy(a.ctx).Find(a.key) != nil {
		return nil, errCarried
	}
	if !a.engine.life.begin() {
		return nil, ErrClosed
	}
	return a.own()
}

// own waits for a lease of the caller's own. The backend, or the caller's context, may panic
// or end the goroutine. The next caller must not wait for one that is gone.
func (a *acquisition) own() (lease *Lease, err error) {
	ok := false
	defer func() {
		if !ok {
			a.engine.done(lease)
			lease = nil
		}
	}()
	a.report = a.reportWait()
	defer a.report.end()
	a.class = a.opts.class()
	st, err := a.queue()
	if err != nil {
		return nil, err
	}
	// Not before: a waiter should be small.
	lease = &Lease{engine: a.engine, name: a.opts.name(), outer: a.outer, minHold: a.opts.MinHold}
	lease.ctx.lease, lease.ctx.parent = lease, a.ctx
	ok, err = a.takeOver(lease, st)
	if !ok && err == nil {
		err = a.ask(lease)
		ok = err == nil
	}
	return lease, err
}

// reportWait returns the report of an acquisition that may wait, or nil if no hook is
// to be told.
func (a *acquisition) reportWait() *waitReport {
	eng := a.engine
	if !eng.cfg.Hooks.waiting() || a.opts.RetryCount == 1 {
		return nil
	}
	r, _ := eng.reports.Get().(*waitReport)
	if r == nil {
		r = &waitReport{engine: eng}
		r.timer = time.AfterFunc(longestPause, r.due)
	}
	r.ctx, r.key, r.opts, r.begun, r.candidate = a.ctx, a.key, a.opts, a.begun, a.candidate
	r.timer.Reset(firstReport - time.Since(a.begun))
	return r
}

// queue waits until this caller is admitted to the key in this process. It returns the
// lease if one is handed over, or there to share.
func (a *acquisition) queue() (*leaseState, error) {
	if a.ctx.Err() != nil {
		return nil, cutShort(endOf(a.ctx), nil)
	}
	e := a.engine
	most := max(minKeyWaiters, e.cfg.MaxWaiters/5)
	if a.opts.RetryCount == 1 || a.handle != nil { // a waiter may be handed another lease
		most = 0
	}
	w, st, err := e.queue.Enter(a.key, a.class, most)
	if err != nil {
		return nil, e.queueErr(a.key, err)
	}
	if w != nil {
		a.report.queued(w.Ticket())
	}
	waiting := w != nil
	defer func() {
		if !waiting {
			return
		}
		if late, ok := e.queue.Cancel(a.key, w); ok && !late.Closed { // its turn came meanwhile
			e.forward(a.key, a.class, late.Lease)
		}
	}()
	for waiting {
		var alarm <-chan time.Time
		switch d, limited, ok := a.budget.idle(); {
		case a.ctx.Err() != nil:
			err = cutShort(endOf(a.ctx), e.busyErr(a.key))
		case !ok:
			err = spent(&a.budget, e.busyErr(a.key))
		case limited:
			alarm = time.After(d)
		}
		if err != nil {
			return nil, err
		}
		turn, ok := e.queue.Wait(w, a.ctx.Done(), alarm)
		if ok && turn.Closed {
			err = ErrClosed
		}
		st, waiting = turn.Lease, !ok
	}
	return st, err
}

// takeOver makes lease a holder of st, which was passed on to the caller. It returns false and
// no error if st is nil or was lost meanwhile: then the caller asks the store. With an
// error, the caller's admission is passed on.
func (a *acquisition) takeOver(lease *Lease, st *leaseState) (bool, error) {
	e := a.engine
	e.leases.add(lease, a.key)
	switch {
	case e.life.ctx.Err() != nil:
		e.forward(a.key, a.class, st)
		return false, ErrClosed
	case st == nil:
		return false, nil
	case a.opts.Fencing && st.Grant().Token == 0:
		e.forward(a.key, a.class, st)
		return false, ErrNoFencing
	}
	now := time.Now()
	ok, moved := lease.assign(st, now, now, a.opts.MaxHold)
	switch {
	case !ok:
		e.discard(st)
		if a.class.Sharing.Mode == Shared {
			e.queue.StartAcquire(a.key)
		}
	case moved:
		e.watchdog.moved(st)
	}
	return ok, nil
}

// ask gets the lease from the store. With an error, the caller's admission is passed on.
func (a *acquisition) ask(lease *Lease) error {
	granted := false
	q := asking{engine: a.engine, ctx: a.ctx, request: a.request(), budget: a.budget, once: a.opts.RetryCount == 1}
	switch {
	case a.handle != nil:
		q.request.From, q.request.Tokens = a.handle.Owner, 1
	case !q.once:
		q.queuer = a.engine.queuer
	}
	defer func() {
		if !granted { // a grant that the store may have made ends by itself
			a.engine.queue.Exit(a.key, a.class.Sharing.Mode == Shared)
		}
	}()
	g, now, err := q.grant()
	a.budget = q.budget // of all keys, for DoAll
	if a.handle != nil {
		g.Token, g.LastToken = a.handle.Token, a.handle.Token
	}
	if err == nil {
		err = a.accept(lease, g, now)
	}
	granted = err == nil
	return err
}

// request returns a request for the key with a new owner.
func (a *acquisition) request() driver.Request {
	return driver.Request{
		Key: a.key, Owner: owner.New(a.engine.ownerSuffix), TTL: a.opts.KeyTimeout,
		Mode: a.opts.Mode, Permits: a.opts.Permits,
		Tokens: leasestate.Tokens(a.engine.cfg.HandOverTime), Renews: true,
	}
}

// accept makes the grant the lease, which this process has got now.
func (a *acquisition) accept(lease *Lease, g driver.Grant, now time.Time) error {
	e := a.engine
	if a.opts.Fencing && g.Token == 0 {
		_ = e.releaser.Release(a.ctx, g, time.Time{})
		return ErrNoFencing
	}
	st := new(leaseState)
	st.Init(now, g, a.class, leasestate.Limits{MaxTime: e.cfg.HandOverTime, Extend: e.extender != nil}, (*Lease).lost)
	if g.Contended {
		st.OthersWait(e.queue.Newest(a.key))
	}
	lease.assign(st, now, g.Sent, a.opts.MaxHold)
	e.watchdog.add(st) // before anything runs under it
	if a.class.Sharing.Mode == Shared {
		e.queue.Acquired(a.key, st)
	}
	return nil
}
