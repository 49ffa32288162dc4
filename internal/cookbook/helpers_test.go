package cookbook_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/locktest"
)

// newProcesses returns n Lockers over one store, which act as n processes.
func newProcesses(tb testing.TB, n int) (*memlock.Backend, []*distlock.Locker) {
	tb.Helper()
	store := memlock.New()
	lockers := make([]*distlock.Locker, n)
	for i := range lockers {
		lockers[i] = testkit.NewLocker(tb, store, distlock.Config{Hooks: locktest.Order(tb)})
	}
	return store, lockers
}

// newMortal returns a Locker over its own connection to a store. When cut has cut it,
// the process is dead for the store: its leases end by themselves.
func newMortal(tb testing.TB, b driver.Backend) (l *distlock.Locker, cut func()) {
	tb.Helper()
	s := testkit.Wrap(b)
	return testkit.NewLocker(tb, s.Only(0), distlock.Config{}), func() {
		s.Fail(testkit.ErrBroken, testkit.Try, testkit.Renew, testkit.Release)
	}
}

// newDead returns a Locker whose store does not answer.
func newDead(tb testing.TB) *distlock.Locker {
	tb.Helper()
	l, cut := newMortal(tb, memlock.New())
	cut()
	return l
}

// together calls f once for each Locker and each of the n callers in its process, all
// at the same time, and returns when all calls have returned.
func together(lockers []*distlock.Locker, n int, f func(l *distlock.Locker)) {
	var callers sync.WaitGroup
	for _, l := range lockers {
		for range n {
			callers.Go(func() { f(l) })
		}
	}
	callers.Wait()
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
