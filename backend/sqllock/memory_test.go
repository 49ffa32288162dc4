package sqllock_test

import (
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
