package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
)

// Release implements [driver.Backend]. It fails with [driver.ErrLost] if another owner
// has the key, and also if the key has no holder and g has tokens: then the lease was
// taken away. If a release of the owner had no answer before, the key counts as given
// back by that one, and there is no error.
//
// While a transaction that was guarded with the lease has not ended, the key cannot be
// given back: Release fails, and has to be called again.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	if err := checkNames(g.Key, g.Owner); err != nil {
		return err
	}
	if err := b.ready(ctx); err != nil {
		return err
	}
	b.wakes.leave(g.Owner)
	begun := time.Now()
	found, held, err := b.release(ctx, &g)
	for i := 1; err != nil; i++ { // repeated as a renewal is: see do
		if errors.Is(err, errGuarded) {
			return err // nothing is in doubt
		}
		b.inDoubt.Add(g.Owner, doubt.Release)
		if i == attempts || !b.broken(err) || time.Since(begun) > b.config.OpTimeout ||
			!clock.Sleep(ctx, rand.N(time.Duration(i)*time.Millisecond)) {
			return err
		}
		found, held, err = b.release(ctx, &g)
	}
	unclear := b.inDoubt.Of(g.Owner)&doubt.Release != 0
	b.inDoubt.Remove(g.Owner)
	switch {
	case found, unclear:
		return nil
	case held:
		return fmt.Errorf("sqllock: another owner has the key: %w", driver.ErrLost)
	case g.Token != 0:
		return fmt.Errorf("sqllock: the lease has ended: %w", driver.ErrLost)
	}
	return nil
}

// release reports whether the owner had the key or a place in its queue, and whether
// another owner has the key. If an attempt of the owner had no answer, it leaves a
// tombstone: the attempt may still arrive, and would take the key for nobody.
func (b *Backend) release(ctx context.Context, g *driver.Grant) (found, held bool, err error) {
	late := b.inDoubt.Of(g.Owner)&doubt.Attempt != 0
	if g.Sharing() == (driver.Sharing{}) && !late {
		err := b.do(ctx, forRelease, func(ctx context.Context, c *sql.Conn) (err error) {
			for i := 0; i < len(b.sql.release) && !found && err == nil; i++ {
				found, err = b.sql.release[i].exec(ctx, c, values{"key": g.Key, "owner": g.Owner})
			}
			return err
		})
		if found || err != nil {
			return found, false, err
		}
	}
	guarded := false
	err = b.change(ctx, forRelease, g.Key, late, func(e *entry) bool { return e.owner == g.Owner }, func(e *entry) {
		if guarded = e.frozen && e.owner == g.Owner; guarded {
			return
		}
		if found = e.release(g.Owner); late {
			e.addTombstone(g.Owner)
		}
		n, _ := e.held()
		held = n > 0
	})
	if err == nil && guarded {
		err = b.failure(errGuarded)
	}
	return found, held, err
}
