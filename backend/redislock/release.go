package redislock

import (
	"context"
	"fmt"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

// Release gives back the key, or the owner's place in the queue, and grants the key to the
// first waiter. It fails with [driver.ErrLost] if another owner has the key. It also fails
// with it if the key has no holder and g has tokens: then the lease has ended. If the release
// was sent twice, the key counts as given back by the first request, and there is no error.
//
// After an answered release, the server refuses the owner for as long as an attempt of it
// may still be on its way. So an owner is good for one acquisition.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	if err := checkNames(g.Key, g.Owner); err != nil {
		return err
	}
	if err := checkMode(g.Mode, g.Permits); err != nil {
		return err
	}
	o := b.dispatcher.ops.get()
	o.script, o.keys, o.owner = releaseScript, lockKeys(g.Key), g.Owner
	if o.share = share(g.Mode, g.Permits); o.share != "" {
		o.script = unshareScript
	}
	o.inDoubt, o.lastToken, o.idempotent = rediskit.Flag(b.inDoubt.has(g.Owner)), g.LastToken, true
	a := b.dispatcher.do(ctx, o)
	if a.err != nil {
		return a.err
	}
	b.inDoubt.remove(g.Owner)
	switch {
	case a.line == replyHeld, a.line == replyNotHeld && g.Token == 0:
		return nil
	case !a.outcomeKnown:
		return nil // sent twice: the first request counts as the one that gave it back
	case a.line == replyNotHeld:
		return fmt.Errorf("redislock: the lease has ended: %w", driver.ErrLost)
	default:
		return fmt.Errorf("redislock: another has the key: %w", driver.ErrLost)
	}
}

// Replies of release.lua, unshare.lua and force_release.lua. Any other is a failure.
const (
	replyHeld    = "1" // the owner had the key, or any owner if it was taken away by force
	replyNotHeld = "2" // it had no holder
)
