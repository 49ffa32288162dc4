package redlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/internal/test/testkit"
)

// An attempt that got only a minority is rolled back at once, and the hint is the time
// when a quorum could be free. None of three owners has the key, so none is named.
func TestVirtualHalfTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 5)
		b := f.backend(t)
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request()))
		synctest.Wait()

		f.put(t, request().Owner+"@a", 3*time.Second, 0)
		f.put(t, request().Owner+"@b", 7*time.Second, 1)
		f.put(t, request().Owner+"@c", 5*time.Second, 2)
		r := request()
		start := time.Now()
		for range 5 { // the nodes answer in different orders
			_, err := b.TryAcquire(t.Context(), r)
			// The first lease to end is enough: then three nodes are free.
			held, left := mustBeHeld(t, err), 3*time.Second-time.Since(start)
			if held.RetryAfter > left || held.RetryAfter < left-100*time.Millisecond || held.Holder != "" {
				t.Errorf("%+v", held)
			}
			synctest.Wait()
		}
		f.mustHave(t, "", 2)

		f.put(t, "d", 6*time.Second, 3, 4)
		_, err := b.TryAcquire(t.Context(), r)
		// The hint comes before all nodes have answered, and may be for less than a
		// quorum.
		if held := mustBeHeld(t, err); held.RetryAfter > 6*time.Second || held.RetryAfter < 2*time.Second {
			t.Errorf("hint %v", held.RetryAfter)
		}
		f.put(t, "foreign", 0, upTo(5)...) // without an expiry
		_, err = b.TryAcquire(t.Context(), r)
		if held := mustBeHeld(t, err); held.RetryAfter != 0 {
			t.Errorf("hint %v", held.RetryAfter)
		}
		f.del(t, lockKey, upTo(5)...)
		testkit.MustRelease(t, b, testkit.MustTry(t, b, r)) // the same owner, after failures
		synctest.Wait()
		if n := f.have(lockKey, ""); n != 5 || b.InFlight() != 0 {
			t.Errorf("%d nodes are free", n)
		}
	})
}

// The node's lease includes the clock drift, and the grant's does not.
func TestVirtualDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 3)
		b := f.backend(t)
		g := testkit.MustTry(t, b, shorter(request(), 10*time.Second))
		synctest.Wait()
		if d := f.admins[1].PTTL(t.Context(), lockKey).Val(); g.TTL != 10*time.Second || d != 10102*time.Millisecond {
			t.Errorf("granted for %v, on the node for %v", g.TTL, d)
		}
		time.Sleep(5 * time.Second)
		testkit.MustRenew(t, b, g)
		synctest.Wait()
		if d := f.admins[1].PTTL(t.Context(), lockKey).Val(); d != 10102*time.Millisecond {
			t.Errorf("renewed for %v", d)
		}
	})
}

// A renewal restores the lock on nodes where it is missing, and a release removes it
// there, too.
//
// Row 23 (redlock): a holder survives the restart of one node after another. Fails if a
// renewal does not restore the lock where it is missing.
func TestVirtualRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 5)
		b := f.backend(t)
		g := testkit.MustTry(t, b, request())
		synctest.Wait()
		f.del(t, lockKey, 1, 4)
		testkit.MustRenew(t, b, g)
		synctest.Wait()
		f.mustHave(t, g.Owner, 5)
		// But not where another owner has the lock, or where the node is not trusted.
		f.put(t, "another", time.Minute, 0)
		f.admins[2].FlushAll(t.Context())
		testkit.MustRenew(t, b, g)
		synctest.Wait()
		if owners := f.owners(lockKey); owners[0] != "another" || owners[2] != "" {
			t.Errorf("%v", owners)
		}
		// And not without a quorum.
		f.del(t, lockKey, 3)
		testkit.MustBeLost(t, b, g)
		synctest.Wait()
		f.mustHave(t, g.Owner, 2)
		testkit.ReleaseLost(t, b, g)
		synctest.Wait()
		f.mustHave(t, g.Owner, 0)
	})
}
