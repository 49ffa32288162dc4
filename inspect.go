package distlock

import (
	"context"
	"errors"
	"fmt"
	"reflect"

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
	if limit < 1 {
		return nil, &Error{Op: "inspect", Key: prefix, Err: fmt.Errorf("limit is %d", limit)}
	}
	var found []KeyInfo
	err := operate(ctx, l, "inspect", prefix, func(i driver.Inspector) (err error) {
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
	err = operate(ctx, l, "force", key, func(i driver.Inspector) (err error) {
		held, err = i.ForceRelease(ctx, key)
		return err
	})
	return held, err
}

// Ping checks whether the store answers, within the time of one operation. If not, the
// error wraps [ErrUnavailable] and contains the address and the cause. It may also wrap
// [ErrClosed], the error of ctx, or [errors.ErrUnsupported] if the backend is not a
// [driver.Pinger].
func (l *Locker) Ping(ctx context.Context) error {
	return operate(ctx, l, "ping", "", func(p driver.Pinger) error { return p.Ping(ctx) })
}

// operate calls f with an ability of the backend, and returns its error as a caller gets it.
func operate[Ability any](ctx context.Context, l *Locker, op, key string, f func(Ability) error) error {
	able, ok := l.backend.(Ability)
	if !ok {
		return &Error{Op: op, Key: key, Err: fmt.Errorf("the backend %T is not a %v: %w", l.backend, reflect.TypeFor[Ability](), errors.ErrUnsupported)}
	}
	if !l.life.begin() {
		return &Error{Op: op, Key: key, Err: ErrClosed}
	}
	defer l.life.done(nil)
	err := f(able)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()), errors.Is(err, ErrForeign):
		return &Error{Op: op, Key: key, Err: err}
	default:
		return &Error{Op: op, Key: key, Err: unavailable(err)}
	}
}
