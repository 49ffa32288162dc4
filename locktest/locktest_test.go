package locktest_test

import (
	"testing"

	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/locktest"
)

// TestRunOnBareBackend checks that the cases that a backend cannot do are skipped, that the
// others pass with a Locker that has to poll, and that each backend is closed once.
func TestRunOnBareBackend(t *testing.T) {
	stores := make(map[driver.Backend]*testkit.Store) // by what the suite has of each
	of := func(memory *memlock.Backend) driver.Backend {
		s := testkit.Wrap(memory)
		s.SetFeatures(driver.Features{})
		s.LimitTokens(0)
		b := s.Only(0)
		stores[b] = s
		return b
	}
	newBare := func(*testing.T) driver.Backend { return of(memlock.New()) }
	t.Run("levers", func(t *testing.T) {
		locktest.Run(t, newBare, locktest.Features{
			Bubble:   true,
			NoTokens: true,
			Drop:     func(_ *testing.T, b driver.Backend, key string) { stores[b].Memory().Drop(key) },
			Peer:     func(_ *testing.T, first driver.Backend) driver.Backend { return of(stores[first].Memory()) },
		})
	})
	t.Run("no-levers", func(t *testing.T) {
		locktest.Run(t, newBare, locktest.Features{Bubble: true, NoTokens: true})
	})
	for _, s := range stores {
		if n := len(s.Calls(testkit.Close)); n != 1 {
			t.Errorf("one of %d backends was closed %d times", len(stores), n)
		}
	}
}
