package sqllock_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A waiter is told to look: seldom after a long time in vain, again as long as it does
// not look, after a look that failed, and if it was woken while it looked.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{holder: "other@host/1"}
		b := s.open(t, 4)
		r := request("key", time.Minute)
		look := func() error { _, err := b.Enqueue(t.Context(), r); return err }
		told := func(within time.Duration) bool {
			time.Sleep(within)
			select {
			case <-b.Turn(t.Context(), r):
				return true
			default:
				return false
			}
		}
		if !told(0) {
			t.Error("without a place it is not told to make an attempt")
		}
		looks := 0
		for start := time.Now(); time.Since(start) < time.Minute; looks++ {
			<-b.Turn(t.Context(), r)
			if err := look(); !errors.Is(err, driver.ErrNotAcquired) {
				t.Fatal(err)
			}
		}
		if looks < 200 || looks > 400 {
			t.Errorf("%d looks in a minute", looks)
		}
		for range 2 {
			if !told(2 * time.Second) {
				t.Error("a waiter that does not look is not told again")
			}
		}
		s.before = func(int, string) error { return stateError("53100") }
		if !unknown(look()) || told(0) || !told(2*time.Second) {
			t.Error("after a look that failed it is told at once, or never")
		}
		s.before = func(_ int, query string) error {
			if strings.Contains(query, "LEFT JOIN") {
				b.Wake(r.Owner)
			}
			return nil
		}
		if !errors.Is(look(), driver.ErrNotAcquired) || !told(0) {
			t.Error("a release while it looks is missed")
		}
	})
}

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
// waiter takes a place again, says that it is there, and one that comes later does not
// pass it.
func TestPlaceIsTakenAgain(t *testing.T) {
	each(t, func(t *testing.T, of *store) {
		b := of.open(t)
		reader := request("key", time.Minute)
		reader.Mode = driver.Shared // others overtake a waiter that is silent for 0.6 s
		g := testkit.MustTry(t, b, reader)
		first := testkit.StartWaiter(t, b, request("key", time.Minute))
		testkit.Eventually(t, "a place", func() bool { return waiting(t, b, "key") == 1 })
		db := of.pool(t)
		exec(t, db, "DELETE FROM distlock_member WHERE token = 0")
		testkit.Eventually(t, "a place again", func() bool { return waiting(t, b, "key") == 1 })
		var said int
		testkit.Eventually(t, "it says often that it is there", func() bool {
			last := said
			err := db.QueryRowContext(t.Context(), "SELECT expires FROM distlock_member WHERE token = 0").Scan(&said)
			return err == nil && last < said && said-last < 600_000
		})
		later := testkit.StartWaiter(t, b, request("key", time.Minute))
		testkit.Eventually(t, "two places", func() bool { return waiting(t, b, "key") == 2 })
		testkit.MustRelease(t, b, g)
		testkit.MustRelease(t, b, first.Served(t))
		testkit.MustRelease(t, b, later.Served(t))
	})
}
