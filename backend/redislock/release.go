package redislock

import (
	"context"
	"fmt"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

// Release gives back the key, or the owner's place in the queue, and grants the key to
// the first waiter. It fails with [driver.ErrLost] if another owner has the key. It
// also fails with it if the key has no holder and g has tokens: then the lease has
// ended. If a release of the owner had no answer before, the key counts as given back
// by that one, and there is no error.
//
// If an attempt of the owner is in doubt, the server refuses the owner from then on,
// for as long as the attempt may still be on its way. So an owner is good for one
// acquisition.
func (b *backend) Release(ctx context.Context, g driver.Grant) error {
	b.inbox.end(g.Owner)
	if err := b.checkNames(g.Key, g.Owner); err != nil {
		return err
	}
	if err := checkMode(g.Mode, g.Permits); err != nil {
		return err
	}
	unclear := b.inDoubt.Of(g.Owner)
	a := b.dispatcher.do(ctx, &request{
		script: releaseScript, key: g.Key, owner: g.Owner, share: share(g.Mode, g.Permits),
		inDoubt: rediskit.Flag(unclear != 0),
	})
	if !a.OutcomeKnown {
		unclear |= doubt.Release
	}
	if a.Err != nil {
		if !a.OutcomeKnown {
			b.inDoubt.Add(g.Owner, doubt.Release)
		}
		return a.Err
	}
	b.inDoubt.Remove(g.Owner)
	switch {
	case a.Value.line == replyHeld, a.Value.line == replyNotHeld && g.Token == 0:
		return nil
	case unclear&doubt.Release != 0:
		return nil // sent more than once: an earlier request may have given it back
	case a.Value.line == replyNotHeld:
		return fmt.Errorf("redislock: the lease has ended: %w", driver.ErrLost)
	default:
		return fmt.Errorf("redislock: another has the key: %w", driver.ErrLost)
	}
}
