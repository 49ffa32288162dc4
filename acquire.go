package distlock

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/backoff"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/compat"
	"github.com/distlock-go/distlock/internal/leasestate"
	"github.com/distlock-go/distlock/internal/owner"
)

// The path of one acquisition, from Locker.Acquire to the store:
//
//	acquire         calls the hooks
//	reenterOrQueue  decides between a re-entry and a lease of its own
//	wait            gets one of its own, while a waitReport tells how long it takes:
//	waitLocal       waits for the other callers in this process
//	takeOver        takes the lease that the caller before passed on, if it did
//	acquireRemote   otherwise asks the store: takeGrant in retry.go
//	accept          makes the grant the lease

// acquire acquires the lock for a full key under checked options with defaults. set is
// what is left of the wait budget if the key is one of several, otherwise nil. candidate is
// set for Lead.
func (l *Locker) acquire(ctx context.Context, key string, opts *Opts, set *backoff.Budget, candidate bool) (*Lease, error) {
	var start time.Time
	if l.cfg.Hooks.Event != nil {
		start = time.Now()
	}
	ctx = l.tellStart(ctx, key, opts)
	s, err := l.reenterOrQueue(ctx, key, opts, set, start, candidate)
	return l.tellOutcome(ctx, key, opts, start, s, err)
}

func (l *Locker) tellStart(ctx context.Context, key string, opts *Opts) context.Context {
	if h := l.cfg.Hooks.Start; h != nil {
		return h(ctx, opts.event("", key))
	}
	return ctx
}

// refuse tells the hooks of an acquisition that is refused before it begins, because of its
// options or its key, and returns err: nobody else may look at it, as with a scheduler's job.
func (l *Locker) refuse(ctx context.Context, key string, opts *Opts, err error) error {
	ctx = l.tellStart(ctx, key, opts)
	l.tellFailed(ctx, key, opts, 0, err)
	return err
}

func (l *Locker) tellFailed(ctx context.Context, key string, opts *Opts, wait time.Duration, err error) {
	if h := l.cfg.Hooks.Event; h != nil {
		e := opts.event(Failed, key)
		e.Wait, e.Err = wait, err
		h(ctx, e)
	}
}

// tellOutcome calls the hook for the outcome of an acquisition, and returns the outcome.
func (l *Locker) tellOutcome(ctx context.Context, key string, opts *Opts, start time.Time, lease *Lease, err error) (*Lease, error) {
	if err != nil {
		err = opts.notAcquired(key, err)
		l.tellFailed(ctx, key, opts, time.Since(start), err)
		return nil, err
	}
	if h := l.cfg.Hooks.Event; h != nil {
		lease.tellAcquired(h, time.Since(start))
	}
	return lease, nil
}

// reenterOrQueue re-enters the lease of the key that ctx carries. If ctx carries none, it
// waits until the caller is admitted to the key, and then gets a lease for it.
func (l *Locker) reenterOrQueue(ctx context.Context, key string, opts *Opts, set *backoff.Budget, start time.Time, candidate bool) (*Lease, error) {
	innermost, _ := FromContext(ctx)
	if s := innermost.find(l, key); s != nil {
		return s.reenter(ctx, innermost, opts)
	}
	if !l.life.begin() {
		return nil, ErrClosed
	}
	var b backoff.Budget
	if set != nil {
		b = *set
	} else {
		opts.start(&b)
	}
	s, err := l.wait(ctx, key, innermost, opts, &b, l.reportWait(ctx, key, opts, start, candidate))
	if err != nil {
		if s != nil {
			s.cancel(err)
		}
		l.life.done(s)
		return nil, err
	}
	return s, nil
}

// wait waits for a lease of the caller's own. With an error, it may return one that is of no
// use.
func (l *Locker) wait(
	ctx context.Context, key string, innermost *Lease, opts *Opts, b *backoff.Budget, report *waitReport,
) (*Lease, error) {
	defer report.end()
	c := opts.class()
	st, err := l.waitLocal(ctx, key, c, opts, b, report)
	if err != nil {
		return nil, err
	}
	s := l.newLease(ctx, innermost, opts, b) // not before: a waiter should be small
	ok, err := l.takeOver(s, key, c, opts, st)
	if !ok && err == nil {
		err = l.acquireRemote(ctx, s, key, c, opts, report)
	}
	return s, err
}

func (l *Locker) newLease(ctx context.Context, outer *Lease, opts *Opts, b *backoff.Budget) *Lease {
	s := &Lease{locker: l, name: opts.name(), outer: outer, budget: *b, minHold: opts.MinHold}
	s.ctx.lease, s.ctx.parent = s, ctx
	return s
}

// waitLocal waits until this caller is admitted to the key in this process. It returns the
// lease if one is handed over, or there to share.
func (l *Locker) waitLocal(ctx context.Context, key string, c compat.Class, opts *Opts, b *backoff.Budget, report *waitReport) (*leaseState, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx, nil)
	}
	most := max(minKeyWaiters, l.cfg.MaxWaiters/5)
	if opts.RetryCount == 1 {
		most = 0
	}
	w, st, err := l.queue.Enter(key, c, most)
	if err != nil {
		return nil, l.queueErr(key, err)
	}
	if w != nil {
		report.inProcess(w.Ticket())
	}
	for w != nil {
		var alarm <-chan time.Time
		switch d, limited, ok := b.Idle(); {
		case ctx.Err() != nil:
			err = ended(ctx, l.busyErr(key))
		case !ok:
			err = spent(b, l.busyErr(key))
		case limited:
			alarm = time.After(d)
		}
		if err != nil {
			if late, ok := l.queue.Cancel(key, w); ok && !late.Closed { // its turn came meanwhile
				l.forward(key, c, late.Lease)
			}
			return nil, err
		}
		switch turn, ok := l.queue.Wait(w, ctx.Done(), alarm); {
		case ok && turn.Closed:
			return nil, ErrClosed
		case ok:
			return turn.Lease, nil
		}
	}
	return st, nil
}

// takeOver makes lease a holder of st, which was passed on to the caller. It returns false and
// no error if st is nil or was lost meanwhile: then the caller asks the store. With an
// error, the caller's admission is passed on.
func (l *Locker) takeOver(lease *Lease, key string, c compat.Class, opts *Opts, st *leaseState) (bool, error) {
	switch {
	case !l.life.register(lease, key):
		l.forward(key, c, st)
		return false, ErrClosed
	case st == nil:
		return false, nil
	case opts.Fencing && st.Grant().Token == 0:
		l.forward(key, c, st)
		return false, ErrNoFencing
	}
	now := time.Now()
	ok, moved := lease.assign(st, now, now, opts.MaxHold)
	switch {
	case !ok:
		l.discard(st)
		if c.Sharing.Mode == Shared {
			l.queue.StartAcquire(key)
		}
	case moved:
		l.watchdog.moved(st)
	}
	return ok, nil
}

// acquireRemote gets the lease from the store. With an error, the caller's admission
// is passed on.
func (l *Locker) acquireRemote(ctx context.Context, lease *Lease, key string, c compat.Class, opts *Opts, report *waitReport) error {
	r := l.request(key, opts)
	r.Backoff = &lease.budget
	g, now, err := l.takeGrant(ctx, lease, r, opts.RetryCount != 1, report)
	if err == nil {
		err = l.accept(ctx, lease, g, now, c, opts)
	}
	if err != nil {
		l.queue.Exit(key, c.Sharing.Mode == Shared)
	}
	return err
}

// request returns a request for a key with a new owner.
func (l *Locker) request(key string, opts *Opts) driver.Request {
	return driver.Request{
		Key: key, Owner: owner.New(l.ownerSuffix), TTL: opts.KeyTimeout, Mode: opts.Mode, Permits: opts.Permits,
		Tokens: leasestate.Tokens(l.cfg.HandOverTime), Renews: true,
	}
}

// accept makes the grant the lease, which this process has got now.
func (l *Locker) accept(ctx context.Context, lease *Lease, g driver.Grant, now time.Time, c compat.Class, opts *Opts) error {
	if opts.Fencing && g.Token == 0 {
		_ = l.releaser.Release(ctx, g)
		return ErrNoFencing
	}
	limits := leasestate.NewLimits(l.cfg.HandOverTime, l.extender != nil, &l.releaser.roundTrip)
	st := new(leaseState)
	st.Init(now, g, c, limits, (*Lease).lost)
	lease.assign(st, now, g.Sent, opts.MaxHold)
	l.watchdog.add(st) // before anything runs under it
	if c.Sharing.Mode == Shared {
		l.queue.Acquired(lease.Key(), st)
	}
	return nil
}

// usable returns an error if a grant came too late, or if ctx has ended.
func usable(ctx context.Context, g driver.Grant, now time.Time) error {
	if clock.Elapsed(leasestate.Start(g), now) >= clock.SafeTTL(g.TTL) {
		return errLate
	}
	return ctx.Err()
}
