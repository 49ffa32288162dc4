package locktest_test

import (
	"context"
	"testing"

	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/locktest"
)

// bare is a backend with none of the abilities that a backend may leave out.
type bare struct{ store *memlock.Backend }

func (bare) Features() driver.Features { return driver.Features{} }

func (b bare) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := b.store.TryAcquire(ctx, r)
	g.Token, g.LastToken = 0, 0
	return g, err
}

func (b bare) Renew(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	b.store.Renew(ctx, grants, report)
}

func (b bare) Release(ctx context.Context, g driver.Grant) error { return b.store.Release(ctx, g) }

// TestRunOnBareBackend checks that the cases that a backend cannot do are skipped, and
// that the others pass with a Locker that has to poll.
func TestRunOnBareBackend(t *testing.T) {
	newBackend := func(*testing.T) driver.Backend { return bare{memlock.New()} }
	t.Run("levers", func(t *testing.T) {
		locktest.Run(t, newBackend, locktest.Features{
			Bubble:   true,
			NoTokens: true,
			Drop:     func(_ *testing.T, b driver.Backend, key string) { b.(bare).store.Drop(key) },
			Peer:     func(_ *testing.T, first driver.Backend) driver.Backend { return first },
		})
	})
	t.Run("no-levers", func(t *testing.T) {
		locktest.Run(t, newBackend, locktest.Features{Bubble: true, NoTokens: true, NoExpiry: true})
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
