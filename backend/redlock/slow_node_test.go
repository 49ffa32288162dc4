package redlock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// A node stands still while a lease is renewed repeatedly. The lease continues, and
// once the node is known to be silent, few renewals wait for it at a time.
//
// Row 9 (redlock): few renewals wait for a node that sleeps, and the lease continues.
// Fails if any number of operations may wait for a silent node.
func TestRenewalsDoNotPileUp(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	f := realFleet(t, 3)
	const limit, sleep = time.Second, 6 * time.Second
	cs := f.clients()
	slow := f.servers[1].Client(t, func(o *redis.Options) { o.ReadTimeout = limit })
	cs[1] = plain{slow} // used for all operations
	b := newBackend(t, cs, redlock.WithNodeTimeout(limit))
	g := f.everywhere(t, b, request())
	underWay := func() int { s := slow.PoolStats(); return int(s.TotalConns - s.IdleConns) }

	over := f.servers[1].Sleep(t, sleep)
	var most, renewals int
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for start := time.Now(); ; {
		select {
		case <-over:
		case <-tick.C:
			asked := time.Now()
			got := status(t, b, g)
			if got == driver.Unknown && time.Since(asked) >= limit {
				continue // the machine stood still
			}
			if got != driver.Renewed {
				t.Fatalf("renewal: %v", got)
			}
			renewals++
			// Earlier renewals, from before the node was known to be silent, have ended
			// by then.
			if time.Since(start) > 3*limit {
				most = max(most, underWay())
			}
			continue
		}
		break
	}
	t.Logf("%d renewals, %d under way at the node", renewals, most)
	// A connection that is being opened or closed counts for a moment, too. Without the
	// limit there are about fifty.
	if most < 1 || most > 4*redlock.SilentAfter {
		t.Errorf("%d of %d renewals were under way at once", most, renewals)
	}
	testkit.Eventually(t, "the node answers again", func() bool {
		return status(t, b, g) == driver.Renewed && f.have(lockKey, g.Owner) == 3
	})
	release(t, b, g)
	quiet(t, b)
	f.allFree(t)
}

// A late node keeps the lock if it was granted, and is free if it was not.
//
// Row 9 (redlock): a late vote is kept if the lock was granted, and released if not.
// Fails if the votes of a failed attempt are not released.
func TestLateNode(t *testing.T) {
	t.Parallel()
	f := realFleet(t, 3)
	b, networks := spoilt(t, f, 2*time.Second)
	f.warm(t, b)

	networks[0].HoldAt(callOf(redlock.AcquireHash))
	g := acquire(t, b, request())
	deliver(t, networks[0])
	testkit.Eventually(t, "the late node has the lock", func() bool { return f.have(lockKey, g.Owner) == 3 })
	release(t, b, g)
	quiet(t, b)
	f.allFree(t)

	f.put(t, "another", time.Minute, 1, 2)
	networks[0].HoldAt(callOf(redlock.AcquireHash))
	_, err := b.TryAcquire(t.Context(), request())
	mustBeHeld(t, err)
	deliver(t, networks[0])
	quiet(t, b)
	f.del(t, lockKey, 1, 2)
	f.allFree(t)
}
