package locktest_test

import (
	"testing"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/locktest"
)

// bare is a backend with none of the abilities that a backend may leave out.
type bare struct {
	driver.Backend
	store  *testkit.Store
	closed *int // how often
}

func (b bare) Close() error {
	*b.closed++
	return nil
}

// TestRunOnBareBackend checks that the cases that a backend cannot do are skipped, that the
// others pass with a Locker that has to poll, and that each backend is closed once.
func TestRunOnBareBackend(t *testing.T) {
	var counts []*int
	of := func(s *testkit.Store) driver.Backend {
		n := new(int)
		counts = append(counts, n)
		return bare{s.Only(0), s, n}
	}
	newBare := func(*testing.T) driver.Backend {
		s := testkit.NewStore()
		s.SetFeatures(driver.Features{})
		s.LimitTokens(0)
		return of(s)
	}
	t.Run("levers", func(t *testing.T) {
		locktest.Run(t, newBare, locktest.Features{
			Bubble:   true,
			NoTokens: true,
			Drop:     func(_ *testing.T, b driver.Backend, key string) { b.(bare).store.Memory().Drop(key) },
			Peer:     func(_ *testing.T, first driver.Backend) driver.Backend { return of(first.(bare).store) },
		})
	})
	t.Run("no-levers", func(t *testing.T) {
		locktest.Run(t, newBare, locktest.Features{Bubble: true, NoTokens: true, NoExpiry: true})
	})
	for i, n := range counts {
		if *n != 1 {
			t.Errorf("backend %d of %d was closed %d times", i+1, len(counts), *n)
		}
	}
}
