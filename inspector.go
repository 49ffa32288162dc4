package distlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock/driver"
)

// Fingerprint is that of the lease's owner in the store, as [Locker.Inspect] shows
// it. Those who have the lease one after the other by a hand-over in this process
// share it, and so do its re-entries and the readers who ride on it.
func (s *Lease) Fingerprint() string { return driver.Fingerprint(s.hold.grant.Owner) }

// Inspect lists the keys with the prefix that are held or waited for, at most
// limit of them, which must be positive; an empty prefix is every key. They are
// full keys. The answer is as old as the call: a key may have changed hands since.
// It is for people to look at; no program should decide by it who holds what,
// except who leads, to be shown or called.
//
// In a store with many keys it may take long: let ctx have a deadline. The error
// wraps [errors.ErrUnsupported] if the backend is no [driver.Inspector], [ErrClosed], the
// error of ctx, or [ErrUnavailable]; what was found before is returned with it.
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

// ForceRelease takes the key, a full one, away from all who hold it, and passes it
// on to those who wait. It returns whether anybody had it. It is a way out where a
// lock is held by something that is stuck, and it breaks a promise: the deposed
// holder is told by its next renewal, up to a third of its KeyTimeout later, and by
// then another may hold the key. A resource that checks [Lease.Token] is safe:
// later tokens are larger than those of the deposed. Of the rest of what MinHold
// keeps nothing is left either.
//
// A value that is not a lock of this package stays: the error wraps [ErrForeign].
// After an error that wraps [ErrUnavailable] it is unknown whether it was done.
// The error wraps [errors.ErrUnsupported] if the backend is no [driver.Inspector], or
// [ErrClosed], or the error of ctx.
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
	if !l.life.enter() {
		return &Error{Op: op, Key: key, Err: ErrClosed}
	}
	defer l.life.exit(nil)
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
