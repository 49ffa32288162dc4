package locktest_test

import (
	"testing"

	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/locktest"
)

// bare is a backend with none of the abilities that a backend may leave out.
type bare struct {
	driver.Backend
	store *testkit.Store
}

func newBare(*testing.T) driver.Backend {
	s := testkit.NewStore()
	s.SetFeatures(driver.Features{})
	s.LimitTokens(0)
	return bare{s.Only(0), s}
}

// TestRunOnBareBackend checks that the cases that a backend cannot do are skipped, and
// that the others pass with a Locker that has to poll.
func TestRunOnBareBackend(t *testing.T) {
	t.Run("levers", func(t *testing.T) {
		locktest.Run(t, newBare, locktest.Features{
			Bubble:   true,
			NoTokens: true,
			Drop:     func(_ *testing.T, b driver.Backend, key string) { b.(bare).store.Memory().Drop(key) },
			Peer:     func(_ *testing.T, first driver.Backend) driver.Backend { return first },
		})
	})
	t.Run("no-levers", func(t *testing.T) {
		locktest.Run(t, newBare, locktest.Features{Bubble: true, NoTokens: true, NoExpiry: true})
	})
}

// closing counts how often it is closed.
type closing struct {
	*memlock.Backend
	closed *int
}

func (c closing) Close() error {
	*c.closed++
	return nil
}

// TestRunClosesBackends checks that each backend is closed once, by the suite or by a
// Locker.
func TestRunClosesBackends(t *testing.T) {
	var counts []*int
	made := func(b *memlock.Backend) driver.Backend {
		c := closing{b, new(int)}
		counts = append(counts, c.closed)
		return c
	}
	t.Run("suite", func(t *testing.T) {
		locktest.Run(t, func(*testing.T) driver.Backend { return made(memlock.New()) }, locktest.Features{
			Bubble: true,
			Peer:   func(_ *testing.T, first driver.Backend) driver.Backend { return made(first.(closing).Backend) },
		})
	})
	for i, n := range counts {
		if *n != 1 {
			t.Errorf("backend %d of %d was closed %d times", i+1, len(counts), *n)
		}
	}
}
