package distlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock/driver"
)

// Inspect lists the keys with the prefix that are held or waited for, at most limit of
// them. The prefix is that of full keys; "" matches all. The result may be outdated: it
// is for people, and no program should decide by it which holder has a key, except to
// show or call the leader.
//
// It may take long in a store with many keys. With an error it returns what was found
// before. The error wraps [errors.ErrUnsupported] if the backend is not a
// [driver.Inspector], [ErrClosed], [ErrUnavailable], or the error of ctx.
func (l *Locker) Inspect(ctx context.Context, prefix string, limit int) ([]KeyInfo, error) {
	const op = "inspect"
	if limit < 1 {
		return nil, &Error{Op: op, Key: prefix, Err: fmt.Errorf("limit is %d", limit)}
	}
	var found []KeyInfo
	err := l.inspector(ctx, op, prefix, func(i driver.Inspector) (err error) {
		found, err = i.Inspect(ctx, prefix, limit)
		return err
	})
	return found, err
}

// ForceRelease takes a full key away from its holders and passes it on to the waiters.
// It returns whether the key was held. It is for a holder that is stuck, and breaks a
// guarantee: that holder learns of it by its next renewal, up to a third of its
// KeyTimeout later, when another may hold the key. A resource that checks [Lease.Token]
// is safe, because later tokens are larger. Any remaining MinHold time is discarded.
//
// A value that is not a lock of this package stays: the error wraps [ErrForeign]. After
// [ErrUnavailable] the outcome is unknown. Other errors are those of [Locker.Inspect].
func (l *Locker) ForceRelease(ctx context.Context, key string) (held bool, err error) {
	if err := checkKey(key); err != nil {
		return false, err
	}
	err = l.inspector(ctx, "force", key, func(i driver.Inspector) (err error) {
		held, err = i.ForceRelease(ctx, key)
		return err
	})
	return held, err
}

// inspector calls f with the backend's ability.
func (l *Locker) inspector(ctx context.Context, op, key string, f func(driver.Inspector) error) error {
	i, ok := l.backend.(driver.Inspector)
	if !ok {
		return &Error{Op: op, Key: key, Err: fmt.Errorf("the backend %T is no Inspector: %w", l.backend, errors.ErrUnsupported)}
	}
	if !l.life.begin() {
		return &Error{Op: op, Key: key, Err: ErrClosed}
	}
	defer l.life.done(nil)
	err := f(i)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()), errors.Is(err, ErrForeign):
		return &Error{Op: op, Key: key, Err: err}
	default:
		return &Error{Op: op, Key: key, Err: unavailable(err)}
	}
}

// Ping checks whether the store answers, within the time of one operation. If not, the
// error wraps [ErrUnavailable] and contains the address and the cause. It may also wrap
// [ErrClosed], the error of ctx, or [errors.ErrUnsupported] if the backend is not a
// [driver.Pinger].
func (l *Locker) Ping(ctx context.Context) error {
	const op = "ping"
	p, ok := l.backend.(driver.Pinger)
	if !ok {
		return &Error{Op: op, Err: fmt.Errorf("the backend %T is not a Pinger: %w", l.backend, errors.ErrUnsupported)}
	}
	if !l.life.begin() {
		return &Error{Op: op, Err: ErrClosed}
	}
	defer l.life.done(nil)
	err := p.Ping(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return &Error{Op: op, Err: err}
	default:
		return &Error{Op: op, Err: unavailable(err)}
	}
}
