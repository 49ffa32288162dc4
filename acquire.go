package distlock

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/backoff"
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
		LockInfo: s.info(), Token: s.token, Wait: wait, Reentrant: s.again != nil, HandedOver: s.handed,
	})
	returned = true
}

// enter re-enters a lease of the key that ctx carries, or goes through the gate
// and takes the key from the backend.
func (l *Locker) enter(ctx context.Context, key string, o *Opts, p part) (*Lease, error) {
	innermost, _ := FromContext(ctx)
	if s := innermost.find(l, key); s != nil {
		if o.Fencing && s.token == 0 {
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
	t := o.terms()
	var budget backoff.Budget
	if p.left == nil {
		o.start(&budget)
	} else {
		budget = *p.left
	}
	var h *hold
	ready := p.grants.take(key)
	if ready == nil {
		var err error
		if h, err = l.passGate(ctx, key, &t, o, &budget); err != nil {
			return nil, err
		}
	}
	// Not before, because those who wait at the gate should be small.
	s := &Lease{locker: l, name: o.name(), outer: outer, budget: budget, minHold: o.MinHold}
	s.bind(ctx)
	if !l.life.register(s, key) {
		if ready != nil {
			l.settle(*ready)
		}
		l.passOn(key, &t, h)
		s.cancel(ErrClosed)
		return s, ErrClosed
	}
	if h != nil && o.Fencing && h.grant.Token == 0 {
		l.passOn(key, &t, h)
		s.cancel(ErrNoFencing)
		return s, ErrNoFencing
	}
	if h != nil {
		now := time.Now()
		if ok, moved := h.occupy(s, now, now, o.MaxHold); ok {
			if moved {
				l.watchdog.moved(h)
			}
			return s, nil
		}
		// Lost on the way from hand to hand: the store decides.
		l.decline(h)
		if t.mode == Shared {
			l.gate.asks(key)
		}
	}
	if err := l.ask(ctx, s, key, &t, o, ready); err != nil {
		l.gate.pass(key, t.mode == Shared)
		s.cancel(err)
		return s, err
	}
	return s, nil
}

// ask takes the key from the backend for s, unless the grant is ready.
func (l *Locker) ask(ctx context.Context, s *Lease, key string, t *terms, o *Opts, ready *driver.Grant) error {
	var g driver.Grant
	var err error
	stray := false
	if ready != nil {
		g = *ready
		if err = accept(&s.ctx, g); err != nil {
			l.settle(g)
			return l.refusal(ctx, &s.budget, err)
		}
	} else {
		r := l.request(key, o)
		r.Backoff = &s.budget
		g, stray, err = l.takeGrant(ctx, s, r, o.RetryCount != 1)
	}
	if err == nil && o.Fencing {
		err = l.demandToken(ctx, g)
	}
	if err != nil {
		return err
	}
	h := newHold(g, *t, l.cfg.bounds())
	h.stray = stray
	h.occupy(s, time.Now(), g.Sent, o.MaxHold)
	l.watchdog.add(h) // before anything runs under it
	if t.mode == Shared {
		l.gate.answered(key, h)
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
func (l *Locker) passGate(ctx context.Context, key string, t *terms, o *Opts, b *backoff.Budget) (*hold, error) {
	most := o.MaxWaiters
	if o.RetryCount == 1 {
		most = 0
	}
	w, h, err := l.gate.enter(key, *t, most)
	if err == errShut { //nolint:errorlint // that very value
		err = l.keptOut(key)
	}
	if w == nil || err != nil {
		return h, err
	}
	got, err := l.waitTurn(ctx, key, w, b)
	if err != nil && !l.gate.leave(key, w) {
		if late := <-w.turns; !late.closed { // it came while we were leaving
			l.passOn(key, t, late.hold)
		}
	}
	l.gate.forget(w)
	if got.closed {
		err = ErrClosed
	}
	return got.hold, err
}

func (l *Locker) waitTurn(ctx context.Context, key string, w *waiter, b *backoff.Budget) (turn, error) {
	for {
		var alarm <-chan time.Time
		d, limited, ok := b.Idle()
		switch {
		case !ok:
			return turn{}, spent(b, l.keptOut(key))
		case limited:
			alarm = time.After(d)
		}
		select {
		case t := <-w.turns:
			return t, nil
		case <-alarm:
		case <-ctx.Done():
			return turn{}, ended(ctx, l.keptOut(key))
		}
	}
}

// keptOut returns the error for a waiter that gives up at the gate: it names the holder
// in this process or, if there is none, contains what the store last reported to the
// waiter that asks it.
func (l *Locker) keptOut(key string) error {
	s := l.life.holder(key)
	if s == nil {
		return l.gate.refusal(key)
	}
	now := time.Now()
	held := &HeldError{Local: true, Holder: l.cfg.Holder, Held: now.Sub(s.since)}
	if end, renewable := s.hold.until(); !renewable {
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
	if elapsed(g.Sent, time.Now()) >= believed(g.TTL) {
		return errLate
	}
	return ctx.Err()
}
