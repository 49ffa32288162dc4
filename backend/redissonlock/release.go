package redissonlock

import (
	"context"
	"fmt"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

// Release gives back the key and wakes waiters. It fails with [driver.ErrLost] if
// another has the key. It also fails with it if the key has no holder and g has tokens:
// then the lease has ended. If a release of the owner had no answer before, the key
// counts as given back by that one, and there is no error.
func (b *backend) Release(ctx context.Context, g driver.Grant) error {
	if err := checkRequest(g); err != nil {
		return err
	}
	unclear := b.inDoubt.Of(g.Owner)
	k := keysOf(g.Key)
	lock, readWrite := channels(g.Key)
	a, err := b.run(ctx, b.own.Client(), releaseScript, []string{k.lock, k.gone},
		g.Owner, rediskit.Flag(unclear != 0), b.publish, lock, readWrite)
	if !a.known {
		unclear |= doubt.Release
	}
	if err != nil {
		if !a.known {
			b.inDoubt.Add(g.Owner, doubt.Release)
		}
		return err
	}
	n, _ := a.numbers()
	if len(n) != 2 {
		b.inDoubt.Add(g.Owner, doubt.Release)
		return fmt.Errorf("redissonlock: release answered %q", a.value)
	}
	b.inDoubt.Remove(g.Owner)
	heard := n[1]
	if b.listener.Subscribed(lock) {
		heard-- // this process itself
	}
	if heard > 0 {
		b.turns.leave(g.Key)
	}
	switch {
	case n[0] == isHeld, n[0] == notHeld && g.Token == 0:
		return nil
	case unclear&doubt.Release != 0:
		return nil // sent more than once: an earlier request counts as the one that gave it back
	case n[0] == notHeld:
		return fmt.Errorf("redissonlock: the lease has ended: %w", driver.ErrLost)
	default:
		return fmt.Errorf("redissonlock: another has the key: %w", driver.ErrLost)
	}
}

// Replies of release.lua.
const (
	isHeld  = 1 // the owner had the key
	notHeld = 2 // the key had no holder
)
