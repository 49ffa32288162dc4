package locktest_test

import (
	"testing"

	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/locktest"
)

// Example is the test of a backend, as it is in that backend's own test file. It needs a
// [*testing.T], so it is compiled and not run.
//
//nolint:testableexamples // see above
func Example() {
	_ = func(t *testing.T) { // func TestConformance(t *testing.T)
		locktest.Run(t, func(*testing.T) driver.Backend { return memlock.New() }, locktest.Features{
			Bubble: true, // in virtual time, which a backend without a server can have
			Drop:   func(_ *testing.T, b driver.Backend, key string) { b.(*memlock.Backend).Drop(key) },
			Peer:   func(_ *testing.T, first driver.Backend) driver.Backend { return first },
		})
	}
}
