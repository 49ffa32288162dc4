package distlock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// hintFloor is the shortest pause before an attempt that a HeldError's hint
// brought forward: a store that keeps saying "any moment now" is not hammered.
const hintFloor = 2 * time.Millisecond

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
		err = &Error{Op: "acquire", Key: key, Err: err}
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
	var budget Backoff
	if p.left == nil {
		budget.start(o)
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
func (l *Locker) ask(ctx context.Context, s *Lease, key string, t *terms, o *Opts, ready *Grant) error {
	var g Grant
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
func (l *Locker) request(key string, o *Opts) Request {
	return Request{
		Key: key, Owner: newOwner(l.ownerSuffix), TTL: o.KeyTimeout, Mode: o.Mode, Permits: o.Permits,
		Tokens: l.cfg.HandOvers + 1,
	}
}

// passGate waits until this goroutine is let through to contend for the key. It
// returns the hold if one is handed over with the gate, or there to ride on.
func (l *Locker) passGate(ctx context.Context, key string, t *terms, o *Opts, b *Backoff) (*hold, error) {
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

func (l *Locker) waitTurn(ctx context.Context, key string, w *waiter, b *Backoff) (turn, error) {
	for {
		var alarm <-chan time.Time
		d, limited, ok := b.idle()
		switch {
		case !ok:
			return turn{}, b.refusal(l.keptOut(key))
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

// takeGrant asks the backend until it grants, the budget is spent, ctx ends or
// the Locker is closed. Whatever may be left in the store after a failure is
// given up in the background. With the grant it tells whether an attempt got no
// answer: it may still come to the store, which then sets the lease anew.
func (l *Locker) takeGrant(ctx context.Context, s *Lease, r Request, wait bool) (_ Grant, stray bool, _ error) {
	queues := wait && l.queuer != nil
	uncertain := queues // in line, or an attempt whose outcome is unknown
	told := false       // the waiters behind were told what the store says
	var trouble error   // what the last attempt failed with, if it was not that another has the key
	asking := ctx
	if queues {
		asking = &s.ctx // ends when the Locker is closed, too
	}
	asking, limit := r.Backoff.within(asking)
	defer limit.end()
	for {
		var g Grant
		var err error
		if queues {
			g, err = l.queuer.Acquire(asking, r)
		} else {
			g, err = l.backend.TryAcquire(asking, r)
		}
		err = limit.own(err)
		if err == nil {
			uncertain = true // until it is accepted
			err = accept(&s.ctx, g)
		}
		if err == nil {
			if told {
				l.tellWaiters(r.Key, nil, 0)
			}
			return g, stray, nil
		}
		held := errors.Is(err, ErrNotAcquired)
		uncertain = uncertain || !held
		stray = stray || !held
		switch {
		case held:
			trouble = nil
		case trouble != nil && errors.Is(err, errSilent):
			err = trouble
		case ctx.Err() == nil:
			trouble = err
		case trouble != nil && errors.Is(err, ctx.Err()):
			err = trouble // ctx ended during an attempt, and hides why all before it were in vain
		}
		var pause time.Duration
		again := false
		if !held || !queues { // a Queuer that says so has waited already
			pause, again = nextAttempt(ctx, r.Backoff, err)
		}
		if held && wait || !held && !errors.Is(err, ctx.Err()) {
			told = true
			l.tellWaiters(r.Key, err, pause)
		}
		if again && l.sleep(ctx, pause) {
			continue
		}
		if uncertain {
			l.settle(r.Claim())
		}
		return Grant{}, false, l.refusal(ctx, r.Backoff, l.own(r.Key, err))
	}
}

// tellWaiters tells the waiters behind at the gate what the store answered to the last
// attempt, or nothing if it granted the key. The next attempt begins after the pause.
// If it reports nothing for a while, it may be waiting in the store's line.
func (l *Locker) tellWaiters(key string, err error, pause time.Duration) {
	const attempt = 2 * time.Second
	l.gate.told(key, err, time.Now().Add(pause+attempt))
}

// accept refuses a grant that came too late to be one, or for nobody.
func accept(ctx context.Context, g Grant) error {
	if elapsed(g.Sent, time.Now()) >= believed(g.TTL) {
		return errLate
	}
	return ctx.Err()
}

// nextAttempt says how long to pause after a failed attempt, and false if there
// is none to come.
func nextAttempt(ctx context.Context, b *Backoff, err error) (time.Duration, bool) {
	if ctx.Err() != nil {
		return 0, false
	}
	d, ok := b.Wait()
	if held := new(HeldError); ok && errors.As(err, &held) && held.RetryAfter > 0 {
		d = min(d, max(held.RetryAfter, hintFloor))
	}
	return d, ok
}

// sleep waits for d. It returns false if ctx ends or the Locker is closed first.
func (l *Locker) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-l.life.ctx.Done():
	}
	return false
}

// refusal is what the caller is told after the last attempt ended with err.
func (l *Locker) refusal(ctx context.Context, b *Backoff, err error) error {
	switch {
	case l.life.ctx.Err() != nil:
		return ErrClosed
	case ctx.Err() != nil:
		return ended(ctx, err)
	default:
		return b.refusal(err)
	}
}

// refusal is the same where it was not the context that ended the wait.
func (b *Backoff) refusal(err error) error {
	switch {
	case b.over(time.Now()):
		return cutShort(fmt.Errorf("waited for MaxWait, %v", b.maxWait), err)
	case errors.Is(err, ErrNotAcquired):
		return err
	default:
		return unavailable(err)
	}
}

// ended says that ctx ended the wait, and what the last attempt said.
func ended(ctx context.Context, last error) error {
	end := ctx.Err()
	if errors.Is(last, end) && !errors.Is(last, ErrNotAcquired) {
		last = nil // nothing new
	}
	if cause := context.Cause(ctx); !errors.Is(cause, end) {
		end = fmt.Errorf("%w: %w", end, cause)
	}
	return cutShort(end, last)
}

// cutShort returns the error for the end of the wait. It also contains the result of
// the last attempt: the holder of the key, or how the backend failed.
func cutShort(end, last error) error {
	why := ErrNotAcquired
	if held := new(HeldError); errors.As(last, &held) {
		why = held
	} else if errors.Is(last, ErrForeign) {
		why = last
	}
	err := fmt.Errorf("%w: %w", why, end)
	if last != nil && !errors.Is(last, ErrNotAcquired) {
		err = fmt.Errorf("%w: %w", err, unavailable(last))
	}
	return err
}

// renewalFailed is called if the hold was not renewed while s has it.
func (s *Lease) renewalFailed(err error, left time.Duration) {
	if h := s.locker.cfg.Hooks.RenewFailed; h != nil {
		i := RenewFailedInfo{
			LockInfo: s.info(), Token: s.token, Held: time.Since(s.since), Left: left, Err: s.fail("renew", unavailable(err)),
		}
		s.locker.life.cleanup(func() { h(&s.ctx, i) })
	}
}

// lost is called once if the hold is lost while s has it.
func (s *Lease) lost(err error) {
	s.cancel(s.fail("hold", err)) // below several leases the key tells which
	if h := s.locker.cfg.Hooks.Lost; h != nil {
		i := LostInfo{LockInfo: s.info(), Token: s.token, Held: time.Since(s.since), Err: err}
		s.locker.life.cleanup(func() { h(&s.ctx, i) })
	}
}
