package distlock

import (
	"context"
	"errors"

	"github.com/distlock-go/distlock/driver"
)

// demandToken gives a grant back that came without a fencing token, and says so.
func (l *Locker) demandToken(ctx context.Context, g driver.Grant) error {
	if g.Token != 0 {
		return nil
	}
	if err := l.sendRelease(ctx, g); err != nil && !errors.Is(err, ErrLost) {
		l.settle(g)
	}
	return ErrNoFencing
}
