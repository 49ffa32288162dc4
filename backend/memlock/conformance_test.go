package memlock_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/locktest"
)

func newBackend(*testing.T) distlock.Backend { return memlock.New() }

func features() locktest.Features {
	return locktest.Features{
		Drop: func(_ *testing.T, b distlock.Backend, key string) { b.(*memlock.Backend).Drop(key) },
		// What processes share is the store, and the Backend is the store.
		Peer: func(_ *testing.T, first distlock.Backend) distlock.Backend { return first },
	}
}

func TestConformance(t *testing.T) {
	f := features()
	f.Bubble = true
	locktest.Run(t, newBackend, f)
}

// TestConformanceInRealTime keeps the suite honest: most backends cannot live
// in a bubble.
func TestConformanceInRealTime(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	f := features()
	f.Lease = 200 * time.Millisecond
	locktest.Run(t, newBackend, f)
}
