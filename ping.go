package distlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock/driver"
)

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
	if !l.life.enter() {
		return &Error{Op: op, Err: ErrClosed}
	}
	defer l.life.exit(nil)
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
