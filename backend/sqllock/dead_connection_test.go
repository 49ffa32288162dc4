package sqllock_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestDeadConnections checks that a renewal and a release succeed although all connections
// of the pool have died since they were used: the database works again.
func TestDeadConnections(t *testing.T) {
	eachShared(t, func(t *testing.T, of *store) {
		b, n := of.over(t, 5*time.Second)
		g, err := b.TryAcquire(t.Context(), request("k", time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		die := func() {
			n.Cut() // writes succeed all the same
			n.CloseCut()
		}
		die()
		if got := testkit.Renewed(t, b, g); got.Status != driver.Renewed {
			t.Errorf("Renew: %+v", got)
		}
		die()
		if err := b.Release(t.Context(), g); err != nil {
			t.Errorf("Release: %v", err)
		}
		next := request("k", time.Minute)
		if _, err := b.TryAcquire(t.Context(), next); err != nil {
			t.Errorf("the key was not given back: %v", err)
		}
	})
}
