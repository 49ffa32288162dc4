package sqllock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// What frees a key wakes the waiter that is next before it returns.
func TestReleaseWakes(t *testing.T) {
	each(t, func(t *testing.T, of *store) {
		b := of.open(t)
		for what, free := range map[string]func(g driver.Grant){
			"Release": func(g driver.Grant) { testkit.MustRelease(t, b, g) },
			"ForceRelease": func(driver.Grant) {
				if held, err := b.ForceRelease(t.Context(), "key"); err != nil || !held {
					t.Errorf("ForceRelease: %v, %v", held, err)
				}
			},
		} {
			g, next := testkit.MustTry(t, b, request("key", time.Minute)), request("key", time.Minute)
			if _, err := b.Enqueue(t.Context(), next); !errors.Is(err, driver.ErrNotAcquired) {
				t.Fatal(err)
			}
			b.Doze(next.Owner)
			free(g)
			select {
			case <-b.Turn(t.Context(), next):
			default:
				t.Errorf("%s wakes nobody", what)
			}
			testkit.MustRelease(t, b, next.Grant())
		}
	})
}

// The row of a waiter is deleted, as for one that has not looked for a minute. The
// waiter takes a place again, and one that comes later does not pass it.
func TestPlaceIsTakenAgain(t *testing.T) {
	each(t, func(t *testing.T, of *store) {
		b := of.open(t)
		g := testkit.MustTry(t, b, request("key", time.Minute))
		first := testkit.StartWaiter(t, b, request("key", time.Minute))
		testkit.Eventually(t, "a place", func() bool { return waiting(t, b, "key") == 1 })
		exec(t, of.pool(t), "DELETE FROM distlock_member")
		testkit.Eventually(t, "a place again", func() bool { return waiting(t, b, "key") == 1 })
		later := testkit.StartWaiter(t, b, request("key", time.Minute))
		testkit.Eventually(t, "two places", func() bool { return waiting(t, b, "key") == 2 })
		testkit.MustRelease(t, b, g)
		testkit.MustRelease(t, b, first.Served(t))
		testkit.MustRelease(t, b, later.Served(t))
	})
}
