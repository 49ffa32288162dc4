package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A loss is reported once by the hook and once by Release, whenever it happens.
func TestLossIsToldOnce(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			s := testkit.NewStore()
			var told atomic.Int64
			l := testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{Event: testkit.On{distlock.Lost: func(_ context.Context, i distlock.Event) {
				told.Add(1)
				if i.Held < 0 || i.Held > time.Minute || i.Token == 0 {
					t.Errorf("%+v", i)
				}
			}}.Event}})
			held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
			var all sync.WaitGroup
			all.Go(l.LoseAll)
			var err error
			all.Go(func() { err = held.Release(t.Context()) })
			all.Wait()
			synctest.Wait()
			if n := told.Load(); n > 1 || (n == 1) != errors.Is(err, distlock.ErrLost) {
				t.Errorf("the hook was called %d times, Release said %v", n, err)
			}
		})
	}
}

// The machine was suspended: its timers stood still.
//
// Row 10 (any): the watchdog checks all leases after a jump of the clock. Fails if it
// waits for its timers.
func TestJumpOfTheClockEndsTheLeases(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
	var slept, looks atomic.Int64
	l.SetClock(func() time.Time { // a bubble has only one clock
		defer looks.Add(1)
		return suspend(time.Now(), time.Duration(slept.Load()))
	})
	short := testkit.MustAcquire(t, l, "short", distlock.Opts{KeyTimeout: 10 * time.Minute})
	long := testkit.MustAcquire(t, l, "long", distlock.Opts{KeyTimeout: 10 * time.Hour})
	for looks.Load() == 0 {
		runtime.Gosched()
	}
	slept.Store(int64(time.Hour))
	next := testkit.MustAcquire(t, l, "next", distlock.Opts{KeyTimeout: time.Minute}) // wakes the watchdog
	select {
	case <-short.Context().Done():
	case <-time.After(10 * time.Second):
		t.Error("nobody has looked")
	}
	wantIs(t, short.Release(t.Context()), distlock.ErrLost)
	wantIs(t, long.Check()) // it lasts longer than the jump
	wantIs(t, long.Release(t.Context()))
	_ = next.Release(t.Context())
}

// A loss names a pause of the process that is shorter than the lease.
func TestLossWithoutARenewal(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
		start := time.Now()
		l.SetClock(func() time.Time { return start }) // the watchdog does not run
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: 3 * time.Second})
		time.Sleep(3 * time.Second)
		if err := held.Check(); err == nil || !strings.Contains(err.Error(), "ran out; a renewal was due 2") {
			t.Error(err)
		}
	})
}

// MaxHold ends a lease by the clock, too, and by the clock that has run further.
func TestMaxHoldLooksAtTheClock(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
	for name, at := range map[string]func(start time.Time) time.Time{
		"time":    func(start time.Time) time.Time { return start.Add(time.Minute) },
		"suspend": func(start time.Time) time.Time { return suspend(start, time.Minute) },
	} {
		held := testkit.MustAcquire(t, l, name, distlock.Opts{KeyTimeout: time.Hour, MaxHold: time.Minute})
		start := time.Now()
		if !held.ValidAt(start.Add(50 * time.Second)) {
			t.Errorf("%s: %v", name, held.Check())
		}
		if held.ValidAt(at(start)) {
			t.Errorf("%s: valid after MaxHold", name)
		}
		wantIs(t, held.Release(t.Context()), distlock.ErrLost)
	}
}

// A loss during a release is still reported, to the hook and to the caller.
func TestLossDuringARelease(t *testing.T) {
	for name, o := range map[string]distlock.Opts{"writer": writing, "reader": reading} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told atomic.Int64
			s := testkit.NewStore()
			l := testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{Event: testkit.On{distlock.Lost: func(context.Context, distlock.Event) { told.Add(1) }}.Event}})
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

// The last reader releases the lease. From then on no other reader can share it.
func TestReleasedLeaseIsNotShared(t *testing.T) {
	t.Parallel()
	s := testkit.NewStore()
	l := testkit.NewLocker(t, s, distlock.Config{HandOverTime: distlock.DefaultKeyTimeout})
	last := testkit.MustAcquire(t, l, "k", reading)
	goOn := l.StopWatchdog()
	var all sync.WaitGroup
	all.Go(func() { wantIs(t, last.Release(context.Background())) })
	for start := time.Now(); !last.HoldIsOver(); runtime.Gosched() {
		if time.Since(start) > 2*time.Second {
			t.Error("the last reader releases the lease, which is not over")
			break
		}
	}
	var next *distlock.Lease
	var here atomic.Bool
	all.Go(func() { next = testkit.MustAcquire(t, l, "k", reading); here.Store(true) })
	for len(s.Calls(testkit.Enqueue)) < 2 && !here.Load() {
		runtime.Gosched()
	}
	goOn()
	all.Wait()
	wantIs(t, next.Check())
	wantIs(t, next.Release(t.Context()))
	wantCalls(t, s, testkit.Enqueue, 2)
}

// A caller that is admitted while the Locker is closed gets no lease, which nobody would end.
func TestAdmittedWhileTheLockerCloses(t *testing.T) {
	t.Parallel()
	for range 20 {
		l := distlock.New(testkit.NewStore(), distlock.Config{})
		goOn, closed := l.StopLeases()
		var all sync.WaitGroup
		all.Go(func() {
			lease, err := l.Acquire(context.Background(), "k", distlock.Opts{})
			if wantIs(t, err, distlock.ErrClosed); err == nil {
				_ = lease.Release(context.Background())
			}
		})
		for l.Keys() == 0 {
			runtime.Gosched()
		}
		all.Go(func() { wantIs(t, l.Close()) })
		<-closed
		goOn()
		all.Wait()
	}
}

// What an outage leaves behind in this process is bounded, however many callers it refuses and
// however long their leases are, and nothing is left behind where nothing was sent.
func TestWorkAfterFaultsIsBounded(t *testing.T) {
	const callers = distlock.MaxDoubts + 2000
	for name, c := range map[string]struct {
		fault      error // of attempts; releases fail, too
		hang       bool  // releases get no answer
		want, most int   // releases that are left to do, and in progress
	}{
		"refused":  {testkit.ErrBroken, false, distlock.MaxDoubts, 0},
		"silent":   {testkit.ErrBroken, true, distlock.MaxDoubts, distlock.MaxAttempts},
		"not sent": {driver.NotSent(testkit.ErrBroken), true, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := testkit.NewStore()
				var down atomic.Bool
				var trying, most atomic.Int64
				down.Store(true)
				s.Before(func(ctx context.Context, call *testkit.Call) error {
					switch {
					case !down.Load():
						return nil
					case call.Op == testkit.Release && c.hang:
						most.Store(max(most.Load(), trying.Add(1)))
						defer trying.Add(-1)
						<-ctx.Done()
						return ctx.Err()
					case call.Op == testkit.Release:
						return testkit.ErrBroken
					default:
						return c.fault
					}
				})
				l := testkit.NewLocker(t, s, distlock.Config{})
				before := runtime.NumGoroutine()
				for i := range callers {
					key := fmt.Sprint("k", i)
					wantIs(t, testkit.ErrorOf(l.TryAcquire(t.Context(), key, distlock.Opts{KeyTimeout: time.Hour})), distlock.ErrUnavailable, testkit.ErrBroken)
					if i%100 == 0 {
						time.Sleep(time.Second / 4)
					}
				}
				synctest.Wait()
				if n := l.Doubts(); n != c.want || most.Load() > int64(c.most) {
					t.Errorf("%d in doubt, %d in progress; want %d and at most %d", n, most.Load(), c.want, c.most)
				}
				if n := runtime.NumGoroutine() - before; n > c.most+2 {
					t.Errorf("%d goroutines", n)
				}
				time.Sleep(time.Second)
				start, n := time.Now(), len(s.Calls(testkit.Release))
				time.Sleep(10 * time.Second)
				if rate := (len(s.Calls(testkit.Release)) - n) / 10; rate > 1100 {
					t.Errorf("%d attempts a second", rate)
				}
				down.Store(false)
				for l.Doubts() > 0 && time.Since(start) < time.Minute {
					time.Sleep(100 * time.Millisecond)
				}
				if d := time.Since(start) - 10*time.Second; d > 20*time.Second || l.Doubts() > 0 {
					t.Errorf("%d in doubt %v after the outage", l.Doubts(), d)
				}
				if n, _ := l.UnderWay(); n != 0 {
					t.Errorf("%d under way", n)
				}
			})
		})
	}
}

// MinHold uses the monotonic clock, which stands still while the machine sleeps,
// because the wall clock may be set.
func TestMinHoldGoesByTheMonotonicClock(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{-time.Hour, -30 * time.Second, 0, 30 * time.Second, time.Hour} {
		if d := distlock.KeepFor(suspend(time.Now(), jump).Add(time.Minute)); d > time.Minute || d < 50*time.Second {
			t.Errorf("%v are left of a minute that has just begun, by a wall clock %v away", d, jump)
		}
	}
}

// A lease that is lost while readers are about to share it belongs to no holder: each
// reader asks the store.
func TestSharedLeaseLostOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		var l *distlock.Locker
		once := false
		l = testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{Event: testkit.On{distlock.Acquired: func(_ context.Context, i distlock.Event) {
			if i.Token > 65 && !i.HandedOver && !once { // the first of the readers
				once = true
				l.LoseAll()
			}
		}}.Event}})
		held := testkit.MustAcquire(t, l, "k", writing)
		var readers []<-chan *distlock.Lease
		for range 10 {
			readers = append(readers, testkit.InBackground(t, l, reading))
		}
		wantIs(t, held.Release(t.Context()))
		for _, r := range readers {
			_ = testkit.MustGet(t, r).Release(t.Context())
		}
		if !once {
			t.Error("nothing was lost")
		}
		nothingLeft(t, l, s)
	})
}

// A lease that is lost during a hand-over belongs to no holder: the next waiter asks
// the store.
func TestHoldLostOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		var l *distlock.Locker
		var lost atomic.Int64
		l = testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{
			Event: testkit.On{
				distlock.Released: func(context.Context, distlock.Event) {
					if l.LoseOnItsWay("k") {
						lost.Add(1)
					}
				},
				distlock.Lost: func(context.Context, distlock.Event) {
					t.Error("a caller without a lock was told that it was lost")
				},
			}.Event,
		}})
		for range 1000 {
			held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
			asked := len(s.Calls(testkit.Enqueue))
			var all sync.WaitGroup
			testkit.Line(t, &all, l, 1, distlock.Opts{}, func(ctx context.Context, _ int) {
				lease, _ := distlock.FromContext(ctx)
				wantIs(t, lease.Check())
			})
			wantIs(t, held.Release(t.Context()))
			all.Wait()
			n := int64(len(s.Calls(testkit.Enqueue)) - asked)
			if n != lost.Load() {
				t.Errorf("%d acquisitions in the store, %d leases were lost on their way", n, lost.Load())
			}
			if lost.Load() > 0 {
				return // otherwise the waiter was quicker than the hook
			}
		}
		t.Error("no lease was lost on its way")
	})
}

// A renewal that the store denies is a loss at once. A lost lease is not renewed any more, is
// removed before its holder releases it, and its release takes nothing from the new holder.
func TestLostLeaseIsNotWatched(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		other := testkit.NewLocker(t, s, distlock.Config{})
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: 3 * time.Second})
		s.Memory().Drop("k")
		taken := testkit.MustAcquire(t, other, "k", distlock.Opts{KeyTimeout: 24 * time.Hour})
		start := time.Now()
		<-held.Context().Done()
		if d := time.Since(start); d > time.Second {
			t.Errorf("told after %v, want with the next renewal", d)
		}
		wantIs(t, context.Cause(held.Context()), distlock.ErrLost)
		if n := l.Watched(); n != 0 {
			t.Errorf("%d lost leases are watched", n)
		}
		renewed := len(s.Calls(testkit.Renew))
		time.Sleep(time.Minute)
		if n := len(s.Calls(testkit.Renew)); n != renewed {
			t.Errorf("%d renewals of a lost lease", n-renewed)
		}
		wantIs(t, held.Release(t.Context()), distlock.ErrLost)
		wantIs(t, taken.Check())
		if s.Free(t, "k") {
			t.Error("the release took the lock of the new holder")
		}
		wantIs(t, taken.Release(t.Context()))
	})
}

// Row 10 (any): a grant that a machine got before it was suspended is no lease. Fails if
// only the monotonic clock is read.
func TestGrantOfBeforeASuspensionIsNoLock(t *testing.T) {
	t.Parallel()
	s, first := testkit.NewStore(), true
	s.After(func(_ context.Context, c *testkit.Call) error {
		if c.Op == testkit.Enqueue && first {
			first, c.Grants[0].Sent = false, suspend(c.Grants[0].Sent, -time.Hour)
		}
		return nil
	})
	held := testkit.MustAcquire(t, testkit.NewLocker(t, s, distlock.Config{}), "k", distlock.Opts{})
	wantCalls(t, s, testkit.Enqueue, 2)
	wantIs(t, held.Release(t.Context()))
}
