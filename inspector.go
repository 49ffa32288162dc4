package distlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock/driver"
)

// Fingerprint identifies the owner of the lease in the store, as [Locker.Inspect] shows
// it. Holders that hand the lease over in this process, its re-entries and the readers
// that share it have the same.
func (s *Lease) Fingerprint() string { return driver.Fingerprint(s.hold.grant.Owner) }

// Inspect lists the keys that are held or waited for and begin with the prefix, which
// is that of full keys and may be empty. It returns at most limit keys; limit must be
// positive. A key may have changed hands since: the answer is for people, and no
// program should decide by it which holder has a key, except to show or call the
// leader.
//
// In a store with many keys it may take long: let ctx have a deadline. The error wraps
// [errors.ErrUnsupported] if the backend is not a [driver.Inspector], [ErrClosed], the
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

// ForceRelease takes a full key away from all its holders and passes it on to the
// waiters. It returns whether the key was held. It is for a lock whose holder is stuck,
// and it breaks a guarantee: the former holder learns of it by its next renewal, up to
// a third of its KeyTimeout later, when another may hold the key. A resource that
// checks [Lease.Token] is safe, because later tokens are larger. Any remaining MinHold
// time is discarded.
//
// A value that is not a lock of this package stays: the error wraps [ErrForeign]. With
// [ErrUnavailable] it is unknown whether the key was released. The error may also wrap
// [errors.ErrUnsupported] if the backend is not a [driver.Inspector], [ErrClosed], or
// the error of ctx.
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
