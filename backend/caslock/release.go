package caslock

import (
	"context"
	"fmt"

	"github.com/distlock-go/distlock/driver"
)

// Release implements driver.Backend.
func (b *backend) Release(ctx context.Context, g driver.Grant) error {
	w := b.waiter(g.Owner)
	if w.placed {
		if err := b.line.leave(ctx, g.Key, g.Owner); err != nil {
			return err
		}
	}
	r, _, err := b.update(ctx, g.Key, func(r *record) (bool, error) {
		if find(r.Holders, g.Owner) != nil {
			r.Holders = without(r.Holders, g.Owner)
			return true, nil
		}
		// An attempt that may still arrive has a condition on this version. A lease that has
		// ended blocks those who see it for the first time.
		doubt := g.Sent.IsZero() && (!w.placed || w.unsure) || find(r.ended, g.Owner) != nil
		if find(r.Taken, g.Owner) != nil || len(r.Holders) > 0 && !w.placed {
			return doubt, fmt.Errorf("another owner has or had the key: %w", driver.ErrLost)
		}
		return doubt, nil
	})
	if err != nil {
		return err
	}
	var leaving chan struct{}
	b.locked(func() {
		delete(b.waiters, g.Owner)
		leaving = b.leaving[g.Owner]
	})
	if leaving != nil { // nobody is woken for a place whose owner has gone
		<-leaving
		if len(r.Holders) > 0 {
			// The others may have gone meanwhile, and have told an owner that has gone, too.
			if r, err = b.load(ctx, g.Key); err != nil {
				return nil //nolint:nilerr // the key is released, and waiters look by themselves
			}
		}
	}
	b.pass(ctx, g.Key, g.Owner, &r)
	return nil
}
