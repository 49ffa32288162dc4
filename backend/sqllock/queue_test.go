package sqllock_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A key that others wait for is not given back by one statement, which wakes nobody.
func TestWaitedForIsNotGivenBackShort(t *testing.T) {
	each(t, func(t *testing.T, d database, dsn string) {
		b := d.open(t, dsn)
		for _, waited := range []bool{false, true} {
			g := testkit.MustTry(t, b, request("key", time.Minute))
			if waited {
				testkit.StartWaiter(t, b, request("key", time.Minute))
				testkit.Eventually(t, "a place", func() bool { return waiting(t, b, "key") == 1 })
			}
			if found, err := b.GiveBack(t.Context(), g.Key, g.Owner); err != nil || found == waited {
				t.Errorf("a key with a waiter: %v; given back: %v, %v", waited, found, err)
			}
		}
	})
}

// The row of a waiter is deleted, as for one that has not looked for a minute. The waiter takes
// a place again, and one that comes later does not pass it.
func TestPlaceIsTakenAgain(t *testing.T) {
	each(t, func(t *testing.T, d database, dsn string) {
		b := d.open(t, dsn)
		g := testkit.MustTry(t, b, request("key", time.Minute))
		first := testkit.StartWaiter(t, b, request("key", time.Minute))
		testkit.Eventually(t, "a place", func() bool { return waiting(t, b, "key") == 1 })
		exec(t, d.pool(t, dsn), "DELETE FROM distlock_member")
		testkit.Eventually(t, "a place again", func() bool { return waiting(t, b, "key") == 1 })
		later := testkit.StartWaiter(t, b, request("key", time.Minute))
		testkit.Eventually(t, "two places", func() bool { return waiting(t, b, "key") == 2 })
		testkit.MustRelease(t, b, g)
		testkit.MustRelease(t, b, first.Served(t))
		testkit.MustRelease(t, b, later.Served(t))
	})
}
