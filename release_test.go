package distlock_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/testkit"
)

// A loss during a release is still reported, to the hook and to the caller.
func TestLossDuringARelease(t *testing.T) {
	for name, o := range map[string]distlock.Opts{"writer": writing, "reader": reading} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told atomic.Int64
			s := testkit.NewStore()
			l := testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{Lost: func(context.Context, distlock.LostInfo) { told.Add(1) }}})
			held := testkit.MustAcquire(t, l, "k", o)
			want := int64(1)
			if o.Mode == distlock.Shared {
				want++
				beside := testkit.MustAcquire(t, l, "k", o)
				defer beside.Release(context.Background())
			}
			goOn := held.Stop()
			var all sync.WaitGroup
			all.Go(func() { wantIs(t, held.Release(context.Background()), distlock.ErrLost) })
			for held.Check() == nil { // until the release has checked the lease
				runtime.Gosched()
			}
			all.Go(l.LoseAll)
			for !held.HoldIsOver() {
				runtime.Gosched()
			}
			goOn()
			all.Wait()
			for told.Load() < want { // hooks are called in goroutines
				runtime.Gosched()
			}
			if n := told.Load(); n != want {
				t.Errorf("told %d times, want %d", n, want)
			}
		})
	}
}

// A loss that only the store knows of is reported to the hook by the release that
// detects it.
func TestLossThatTheReleaseFindsIsToldToTheHook(t *testing.T) {
	for name, o := range map[string]distlock.Opts{"writer": writing, "reader": reading, "permit": permit} {
		t.Run(name, func(t *testing.T) {
			var told []distlock.LostInfo
			s := testkit.NewStore()
			l := testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{Lost: func(_ context.Context, i distlock.LostInfo) { told = append(told, i) }}})
			held := testkit.MustAcquire(t, l, "k", o)
			s.Steal(t, "k")
			wantIs(t, held.Release(t.Context()), distlock.ErrLost)
			wantIs(t, l.Close()) // waits for the hook
			if len(told) != 1 || told[0].Token != held.Token() {
				t.Fatalf("told %+v", told)
			}
			wantIs(t, told[0].Err, distlock.ErrLost)
		})
	}
}

// The last reader releases the lease. From then on no other reader can share it.
func TestReleasedLeaseIsNotShared(t *testing.T) {
	t.Parallel()
	s := testkit.NewStore()
	l := testkit.NewLocker(t, s, distlock.Config{HandOverTime: distlock.DefaultKeyTimeout})
	last := testkit.MustAcquire(t, l, "k", reading)
	goOn := l.StopWatchdog()
	var all sync.WaitGroup
	all.Go(func() { wantIs(t, last.Release(context.Background())) })
	for last.Sharers() > 0 {
		runtime.Gosched()
	}
	var next *distlock.Lease
	var here atomic.Bool
	all.Go(func() { next = testkit.MustAcquire(t, l, "k", reading); here.Store(true) })
	for len(s.Calls(testkit.Wait)) < 2 && !here.Load() {
		runtime.Gosched()
	}
	goOn()
	all.Wait()
	wantIs(t, next.Check())
	wantIs(t, next.Release(t.Context()))
	wantCalls(t, s, testkit.Wait, 2)
}

// Leases that Close releases are not renewed any more, as after any release.
func TestCloseReleasesAfterTheWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		l := distlock.New(s, distlock.Config{CloseTimeout: time.Millisecond})
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		s.Before(func(_ context.Context, c *testkit.Call) error {
			if n := l.Watched(); c.Op == testkit.Release && n != 0 {
				t.Errorf("%d are watched when the release is sent", n)
			}
			return nil
		})
		wantIs(t, l.Close())
		wantCalls(t, s, testkit.Release, 1)
		wantIs(t, held.Release(t.Context()), distlock.ErrLost, distlock.ErrClosed)
	})
}

// Close gives up on a silent store, however many leases are held.
func TestCloseOfManyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		s.Hang(testkit.Release)
		l := distlock.New(s, distlock.Config{CloseTimeout: time.Second})
		for i := range 1000 {
			testkit.MustAcquire(t, l, fmt.Sprint("k", i), distlock.Opts{KeyTimeout: time.Hour})
		}
		start := time.Now()
		wantIs(t, l.Close())
		if d := time.Since(start); d > time.Second+3*distlock.ReleaseTimeout {
			t.Errorf("it took %v", d)
		}
	})
}
