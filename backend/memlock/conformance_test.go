package memlock_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

// newBackend returns a Backend that must be empty in the end.
func newBackend(t *testing.T) driver.Backend {
	b := memlock.New()
	t.Cleanup(func() { mustBeEmpty(t, b) })
	return b
}

func features() locktest.Features {
	return locktest.Features{
		Drop:      func(_ *testing.T, b driver.Backend, key string) { b.(*memlock.Backend).Drop(key) },
		NoNetwork: true,
		// Processes share the store, and a Backend is the store.
		Peer: func(_ *testing.T, first driver.Backend) driver.Backend { return first },
	}
}

func TestConformance(t *testing.T) {
	f := features()
	f.Bubble = true
	locktest.Run(t, newBackend, f)
}

// TestConformanceInRealTime tests the suite as much as the backend: most backends cannot
// run in a bubble.
func TestConformanceInRealTime(t *testing.T) {
	testmode.Long(t)
	f := features()
	f.Lease = 200 * time.Millisecond
	locktest.Run(t, newBackend, f)
}
