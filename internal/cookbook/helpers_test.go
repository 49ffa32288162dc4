package cookbook_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
)

// newProcesses returns n Lockers over one store, which act as n processes.
func newProcesses(tb testing.TB, n int) (*memlock.Backend, []*distlock.Locker) {
	tb.Helper()
	store := memlock.New()
	lockers := make([]*distlock.Locker, n)
	for i := range lockers {
		lockers[i] = newProcess(tb, store)
	}
	return store, lockers
}

func newProcess(tb testing.TB, b driver.Backend) *distlock.Locker {
	tb.Helper()
	l := distlock.New(b, distlock.Config{})
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return l
}

// together calls f once for each Locker and each of the n callers in its process, all at
// the same time, and returns when all calls have returned.
func together(lockers []*distlock.Locker, n int, f func(l *distlock.Locker)) {
	var callers sync.WaitGroup
	for _, l := range lockers {
		for range n {
			callers.Go(func() { f(l) })
		}
	}
	callers.Wait()
}

var errCut = errors.New("connection refused")

// cable is the connection of a process to the store. When it is cut, the process is dead
// for the store: its leases end by themselves.
type cable struct {
	driver.Backend

	cut atomic.Bool
}

func (c *cable) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if c.cut.Load() {
		return driver.Grant{}, errCut
	}
	return c.Backend.TryAcquire(ctx, r)
}

func (c *cable) Renew(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	if !c.cut.Load() {
		c.Backend.Renew(ctx, grants, report)
	}
}

func (c *cable) Release(ctx context.Context, g driver.Grant) error {
	if c.cut.Load() {
		return errCut
	}
	return c.Backend.Release(ctx, g)
}

// gauge counts what runs at the same time.
type gauge struct{ now, most, total atomic.Int32 }

func (g *gauge) begin() {
	n := g.now.Add(1)
	g.total.Add(1)
	for {
		most := g.most.Load()
		if n <= most || g.most.CompareAndSwap(most, n) {
			return
		}
	}
}

func (g *gauge) end() { g.now.Add(-1) }
