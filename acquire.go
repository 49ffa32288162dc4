package distlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// hintFloor is the shortest pause before an attempt that a HeldError's hint
// brought forward: a store that keeps saying "any moment now" is not hammered.
const hintFloor = 2 * time.Millisecond

// errLate is a grant whose reply took longer than the lease: no lock.
var errLate = errors.New("the reply came later than the lease would have lasted")

// acquire takes the lock for a full key under checked options with defaults.
func (l *Locker) acquire(ctx context.Context, key string, o *Opts) (*Lease, error) {
	start := time.Now()
	if h := l.cfg.Hooks.Start; h != nil {
		ctx = h(ctx, StartInfo{Name: o.name(), Key: key})
	}
	s, err := l.enter(ctx, key, o)
	if err != nil {
		err = &Error{Op: "acquire", Key: key, Err: err}
		if h := l.cfg.Hooks.Failed; h != nil {
			h(ctx, FailedInfo{Name: o.name(), Key: key, Wait: time.Since(start), Err: err})
		}
		return nil, err
	}
	if h := l.cfg.Hooks.Acquired; h != nil {
		h(s.ctx, AcquiredInfo{Name: s.name, Key: key, Token: s.token, Wait: time.Since(start), Reentrant: s.nested})
	}
	return s, nil
}

// enter re-enters a lease of the key that ctx carries, or goes through the gate
// and takes the key from the backend.
func (l *Locker) enter(ctx context.Context, key string, o *Opts) (*Lease, error) {
	innermost, _ := FromContext(ctx)
	if s := innermost.find(l, key); s != nil {
		return s.reenter(ctx, innermost)
	}
	if !l.life.enter() {
		return nil, ErrClosed
	}
	s, err := l.contend(ctx, key, o, innermost)
	if err != nil {
		l.life.exit()
		return nil, err
	}
	return s, nil
}

// contend waits for the gate, then for the backend.
func (l *Locker) contend(ctx context.Context, key string, o *Opts, outer *Lease) (*Lease, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx, nil)
	}
	r := Request{
		Key: key, Owner: uuid.NewString(), TTL: o.KeyTimeout, Tokens: 1,
		Backoff: NewBackoff(o.RetryInterval, o.RetryCount),
	}
	if err := l.passGate(ctx, key, o, r.Backoff); err != nil {
		return nil, err
	}
	g, err := l.takeGrant(ctx, r, o.RetryCount != 1)
	if err != nil {
		l.gate.pass(key)
		return nil, err
	}
	return l.lease(ctx, g, o, outer), nil
}

// passGate waits until this goroutine is the one of its process that contends
// for the key.
func (l *Locker) passGate(ctx context.Context, key string, o *Opts, b *Backoff) error {
	most := o.MaxWaiters
	if o.RetryCount == 1 {
		most = 0
	}
	w, err := l.gate.enter(key, most)
	if w == nil || err != nil {
		return err
	}
	err = l.waitTurn(ctx, w, b)
	if err != nil && !l.gate.leave(key, w) {
		l.gate.pass(key) // the turn came while we were leaving
	}
	return err
}

func (l *Locker) waitTurn(ctx context.Context, w *waiter, b *Backoff) error {
	for {
		var alarm <-chan time.Time
		if !b.unlimited {
			d, ok := b.Wait()
			if !ok {
				return &HeldError{}
			}
			alarm = time.After(d)
		}
		select {
		case <-w.turn:
			return nil
		case <-alarm:
		case <-ctx.Done():
			return ended(ctx, nil)
		case <-l.life.ctx.Done():
			return ErrClosed
		}
	}
}

// takeGrant asks the backend until it grants, the budget is spent, ctx ends or
// the Locker is closed. Whatever may be left in the store after a failure is
// given up in the background.
func (l *Locker) takeGrant(ctx context.Context, r Request, wait bool) (Grant, error) {
	attempt, actx := l.backend.TryAcquire, ctx
	queues := wait && l.queuer != nil
	if queues {
		attempt = l.queuer.Acquire
		waiting, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(l.life.ctx, cancel)()
		actx = waiting
	}

	uncertain := queues // in line, or an attempt whose outcome is unknown
	for {
		g, err := attempt(actx, r)
		if err == nil {
			uncertain = true // until it is accepted
			err = l.accept(ctx, g)
		}
		if err == nil {
			return g, nil
		}
		held := errors.Is(err, ErrNotAcquired)
		uncertain = uncertain || !held
		if !held || !queues { // a Queuer that says so has waited already
			if pause, again := nextAttempt(ctx, r.Backoff, err); again && l.sleep(ctx, pause) {
				continue
			}
		}
		if uncertain {
			l.settle(r.Claim())
		}
		return Grant{}, l.refusal(ctx, err)
	}
}

// accept refuses a grant that came too late to be one, or for nobody.
func (l *Locker) accept(ctx context.Context, g Grant) error {
	if elapsed(g.Sent, time.Now()) >= g.TTL-margin(g.TTL) {
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
func (l *Locker) refusal(ctx context.Context, err error) error {
	switch {
	case l.life.ctx.Err() != nil:
		return ErrClosed
	case ctx.Err() != nil:
		return ended(ctx, err)
	case errors.Is(err, ErrNotAcquired):
		return err
	default:
		return unavailable(err)
	}
}

// ended says that ctx ended the wait. If the last attempt had failed for a
// reason of the backend's, that is told too.
func ended(ctx context.Context, last error) error {
	err := fmt.Errorf("%w: %w", ErrNotAcquired, ctx.Err())
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	if last != nil && !errors.Is(last, ErrNotAcquired) && !errors.Is(last, ctx.Err()) {
		err = fmt.Errorf("%w: %w", err, unavailable(last))
	}
	return err
}

// lease makes the lease of a grant and has it watched before anything runs
// under it.
func (l *Locker) lease(ctx context.Context, g Grant, o *Opts, outer *Lease) *Lease {
	s := &Lease{
		locker: l, name: o.name(), hold: newHold(g, o), token: g.Token,
		since: time.Now(), outer: outer,
	}
	s.bind(ctx)
	s.hold.onLost = s.lost
	l.watchdog.add(s.hold)
	return s
}

// lost is called once when the hold ends before it is released.
func (s *Lease) lost(err error) {
	s.cancel(err)
	if h := s.locker.cfg.Hooks.Lost; h != nil {
		h(LostInfo{Name: s.name, Key: s.Key(), Token: s.token, Held: time.Since(s.since), Err: err})
	}
}
