package distlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/backoff"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/compat"
	"github.com/distlock-go/distlock/internal/localqueue"
	"github.com/distlock-go/distlock/internal/owner"
)

// errLate is a grant whose reply took longer than the lease: no lock.
var errLate = errors.New("the reply came later than the lease would have lasted")

// acquire takes the lock for a full key under checked options with defaults.
func (l *Locker) acquire(ctx context.Context, key string, o *Opts) (*Lease, error) {
	return l.acquireAs(ctx, key, o, part{})
}

// acquireAs is acquire for a key that may be part of a set.
func (l *Locker) acquireAs(ctx context.Context, key string, o *Opts, p part) (*Lease, error) {
	start := p.since
	if start.IsZero() && (l.cfg.Hooks.Acquired != nil || l.cfg.Hooks.Failed != nil) {
		start = time.Now()
	}
	if h := l.cfg.Hooks.Start; h != nil {
		ctx = h(ctx, StartInfo{o.info(key)})
	}
	s, err := l.enter(ctx, key, o, p)
	if err != nil {
		err = o.notAcquired(key, err)
		if h := l.cfg.Hooks.Failed; h != nil {
			h(ctx, FailedInfo{LockInfo: o.info(key), Wait: time.Since(start), Err: err})
		}
		return nil, err
	}
	if h := l.cfg.Hooks.Acquired; h != nil {
		s.tellAcquired(h, time.Since(start))
	}
	return s, nil
}

// tellAcquired calls the hook. If the hook does not return, tellAcquired releases the
// lease, because no caller will get it.
func (s *Lease) tellAcquired(h func(context.Context, AcquiredInfo), wait time.Duration) {
	returned := false
	defer func() {
		if !returned { // a panic, or runtime.Goexit
			s.undone.Store(true)
			_ = s.Release(&s.ctx)
		}
	}()
	h(&s.ctx, AcquiredInfo{
		LockInfo: s.info(), Token: s.got.Token, Wait: wait, Reentrant: s.again != nil, HandedOver: s.got.HandedOver,
	})
	returned = true
}

// enter re-enters a lease of the key that ctx carries, or goes through the gate
// and takes the key from the backend.
func (l *Locker) enter(ctx context.Context, key string, o *Opts, p part) (*Lease, error) {
	innermost, _ := FromContext(ctx)
	if s := innermost.find(l, key); s != nil {
		if o.Fencing && s.got.Token == 0 {
			return nil, ErrNoFencing
		}
		return s.reenter(ctx, innermost, o)
	}
	if !l.life.enter() {
		return nil, ErrClosed
	}
	s, err := l.contend(ctx, key, o, innermost, p)
	if err != nil {
		l.life.exit(s)
		return nil, err
	}
	return s, nil
}

// contend waits for the gate and then, unless the one before hands over the
// hold, for the backend; for neither if the part brings them along. With an error
// the lease is nil, or one that was never held.
func (l *Locker) contend(ctx context.Context, key string, o *Opts, outer *Lease, p part) (*Lease, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx, nil)
	}
	c := o.class()
	var budget backoff.Budget
	if p.left == nil {
		o.start(&budget)
	} else {
		budget = *p.left
	}
	var st *leaseState
	ready := p.grants.take(key)
	if ready == nil {
		var err error
		if st, err = l.passGate(ctx, key, c, o, &budget); err != nil {
			return nil, err
		}
	}
	// Not before, because those who wait at the gate should be small.
	s := &Lease{locker: l, name: o.name(), outer: outer, budget: budget, minHold: o.MinHold}
	s.bind(ctx)
	if !l.life.register(s, key) {
		if ready != nil {
			l.releaseInBackground(*ready)
		}
		l.forward(key, c, st)
		s.cancel(ErrClosed)
		return s, ErrClosed
	}
	if st != nil && o.Fencing && st.Grant().Token == 0 {
		l.forward(key, c, st)
		s.cancel(ErrNoFencing)
		return s, ErrNoFencing
	}
	if st != nil {
		now := time.Now()
		if ok, moved := s.assign(st, now, now, o.MaxHold); ok {
			if moved {
				l.watchdog.moved(st)
			}
			return s, nil
		}
		// Lost on the way from hand to hand: the store decides.
		l.discard(st)
		if c.Sharing.Mode == Shared {
			l.queue.StartAcquire(key)
		}
	}
	if err := l.ask(ctx, s, key, c, o, ready); err != nil {
		l.queue.Exit(key, c.Sharing.Mode == Shared)
		s.cancel(err)
		return s, err
	}
	return s, nil
}

// ask takes the key from the backend for s, unless the grant is ready.
func (l *Locker) ask(ctx context.Context, s *Lease, key string, c compat.Class, o *Opts, ready *driver.Grant) error {
	var g driver.Grant
	var err error
	abandoned := false
	if ready != nil {
		g = *ready
		if err = accept(&s.ctx, g); err != nil {
			l.releaseInBackground(g)
			return l.refusal(ctx, &s.budget, err)
		}
	} else {
		r := l.request(key, o)
		r.Backoff = &s.budget
		g, abandoned, err = l.takeGrant(ctx, s, r, o.RetryCount != 1)
	}
	if err == nil && o.Fencing {
		err = l.demandToken(ctx, g)
	}
	if err != nil {
		return err
	}
	st := new(leaseState)
	st.Init(g, c, l.cfg.limits(), abandoned, (*Lease).lost)
	s.assign(st, time.Now(), g.Sent, o.MaxHold)
	l.watchdog.add(st) // before anything runs under it
	if c.Sharing.Mode == Shared {
		l.queue.Acquired(key, st)
	}
	return nil
}

// request asks for a key for an owner of its own.
func (l *Locker) request(key string, o *Opts) driver.Request {
	return driver.Request{
		Key: key, Owner: owner.New(l.ownerSuffix), TTL: o.KeyTimeout, Mode: o.Mode, Permits: o.Permits,
		Tokens: l.cfg.HandOvers + 1,
	}
}

// passGate waits until this goroutine is let through to contend for the key. It
// returns the hold if one is handed over with the gate, or there to ride on.
func (l *Locker) passGate(ctx context.Context, key string, c compat.Class, o *Opts, b *backoff.Budget) (*leaseState, error) {
	most := o.MaxWaiters
	if o.RetryCount == 1 {
		most = 0
	}
	w, st, err := l.queue.Enter(key, c, most)
	if err != nil {
		return nil, l.refusedEntry(key, err)
	}
	if w == nil {
		return st, nil
	}
	turn, err := l.waitTurn(ctx, key, w, b)
	if err != nil {
		if late, ok := l.queue.Cancel(key, w); ok && !late.Closed { // it came meanwhile
			l.forward(key, c, late.Lease)
		}
		return nil, err
	}
	if turn.Closed {
		return nil, ErrClosed
	}
	return turn.Lease, nil
}

// refusedEntry returns the error for a caller that the queue did not let wait.
func (l *Locker) refusedEntry(key string, err error) error {
	switch {
	case errors.Is(err, localqueue.ErrBusy):
		return l.keptOut(key)
	case errors.Is(err, localqueue.ErrClosed):
		return ErrClosed
	default:
		return fmt.Errorf("%w: %v", ErrQueueFull, err) //nolint:errorlint // its type is not for the caller
	}
}

// waitTurn waits until w's turn comes, the budget is spent, or ctx ends.
func (l *Locker) waitTurn(
	ctx context.Context, key string, w *localqueue.Waiter[*leaseState], b *backoff.Budget,
) (localqueue.Turn[*leaseState], error) {
	for {
		var alarm <-chan time.Time
		d, limited, ok := b.Idle()
		switch {
		case !ok:
			return localqueue.Turn[*leaseState]{}, spent(b, l.keptOut(key))
		case limited:
			alarm = time.After(d)
		}
		if turn, ok := l.queue.Wait(w, ctx.Done(), alarm); ok {
			return turn, nil
		}
		if ctx.Err() != nil {
			return localqueue.Turn[*leaseState]{}, ended(ctx, l.keptOut(key))
		}
	}
}

// keptOut returns the error for a waiter that gives up at the gate: it names the holder
// in this process or, if there is none, contains what the store last reported to the
// waiter that asks it.
func (l *Locker) keptOut(key string) error {
	s := l.life.holder(key)
	if s == nil {
		return l.backendErr(key)
	}
	now := time.Now()
	held := &HeldError{Local: true, Holder: l.cfg.Holder, Held: now.Sub(s.got.Since)}
	if end, renewable := s.state.Until(); !renewable {
		held.RetryAfter = max(end.Sub(now), 0)
	}
	return held
}

// own marks a HeldError of the store as local if its holder belongs to this Locker.
func (l *Locker) own(key string, err error) error {
	held := new(HeldError)
	if !errors.As(err, &held) || held.Holder == "" || held.Holder != l.cfg.Holder || l.life.holder(key) == nil {
		return err
	}
	local := *held
	local.Local = true
	return &local
}

// accept refuses a grant that came too late to be one, or for nobody.
func accept(ctx context.Context, g driver.Grant) error {
	if clock.Elapsed(g.Sent, time.Now()) >= clock.SafeTTL(g.TTL) {
		return errLate
	}
	return ctx.Err()
}

func (o *Opts) sharing() driver.Sharing { return driver.Sharing{Mode: o.Mode, Permits: o.Permits} }

func (o *Opts) class() compat.Class {
	return compat.Class{
		Sharing: o.sharing(), TTL: o.KeyTimeout, Fixed: o.NoWatchdog,
		Alone: o.Mode == Shared && (o.MaxHold > 0 || o.MinHold > 0),
	}
}

// assign makes s a holder of st. It returns false if st is over, and whether the end of st
// has moved.
func (s *Lease) assign(st *leaseState, now, began time.Time, maxHold time.Duration) (ok, moved bool) {
	s.state = st // before st can tell s of a loss
	ok, moved = st.Assign(s, &s.got, now, began, maxHold)
	if !ok {
		s.state = nil
	}
	s.acquired.Store(ok)
	return ok, moved
}
