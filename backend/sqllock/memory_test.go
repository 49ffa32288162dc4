package sqllock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// The lease has ended, and nobody else has the key. A renewal does not bring it back.
func TestRenewalAfterTheEnd(t *testing.T) {
	t.Parallel()
	b, db := inMemory(t)
	closeLater(t, b)
	for mode, table := range map[driver.Mode]string{driver.Exclusive: "distlock", driver.Shared: "distlock_member"} {
		r := request(table, time.Hour)
		r.Mode = mode
		g := testkit.MustTry(t, b, r)
		if got := testkit.Renewed(t, b, g); got.Status != driver.Renewed {
			t.Errorf("%v: the renewal of a lease: %v, %v", mode, got.Status, got.Err)
		}
		exec(t, db, "UPDATE "+table+" SET expires = 0 WHERE lock_key = '"+table+"'")
		if got := testkit.Renewed(t, b, g); got.Status != driver.Lost {
			t.Errorf("%v: the renewal of a lease that has ended: %v, %v", mode, got.Status, got.Err)
		}
	}
}

// The sweep spares a key that was unused for the retention if an owner waits for it.
func TestSweepSparesWaiters(t *testing.T) {
	t.Parallel()
	b, db := inMemory(t)
	closeLater(t, b)
	for _, key := range []string{"unused", "waited-for"} {
		g := testkit.MustTry(t, b, request(key, time.Hour))
		if key == "waited-for" {
			waiting := request(key, time.Hour)
			waiting.Backoff = driver.NewBackoff(time.Millisecond, 2)
			if _, err := b.Acquire(t.Context(), waiting); !errors.Is(err, driver.ErrNotAcquired) {
				t.Fatalf("Acquire: %v", err)
			}
		}
		testkit.MustRelease(t, b, g)
	}
	exec(t, db, "UPDATE distlock SET prior_token = 0, token = 1, expires = 0 WHERE lock_key <> ''")
	if err := b.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := scan(t, db, "SELECT coalesce(group_concat(lock_key), 'nothing') FROM distlock WHERE lock_key <> ''"); got != "waited-for" {
		t.Errorf("the sweep leaves %s", got)
	}
}
