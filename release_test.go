package distlock_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

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

// A loss that only the store knows of is reported to the hook by the release that
// detects it.
func TestLossThatTheReleaseFindsIsToldToTheHook(t *testing.T) {
	for name, o := range map[string]distlock.Opts{"writer": writing, "reader": reading, "permit": permit} {
		t.Run(name, func(t *testing.T) {
			var told []distlock.Event
			s := testkit.NewStore()
			l := testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{Event: testkit.On{distlock.Lost: func(_ context.Context, i distlock.Event) { told = append(told, i) }}.Event}})
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
	for !last.HoldIsOver() {
		runtime.Gosched()
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

// What was in doubt before stays in doubt when a later attempt sends nothing, and a place in
// the store's queue is given up.
func TestNothingSentAfterADoubt(t *testing.T) {
	for name, c := range map[string]struct {
		faults []error // of the attempts
		opts   distlock.Opts
		want   int // releases
	}{
		"nothing":        {[]error{driver.NotSent(testkit.ErrBroken)}, distlock.Opts{RetryCount: 1}, 0},
		"nothing, twice": {[]error{driver.NotSent(testkit.ErrBroken), driver.NotSent(testkit.ErrBroken)}, distlock.Opts{RetryCount: 2}, 0},
		"after a doubt":  {[]error{testkit.ErrBroken, driver.NotSent(testkit.ErrBroken)}, distlock.Opts{RetryCount: 2}, 1},
		"before a doubt": {[]error{driver.NotSent(testkit.ErrBroken), testkit.ErrBroken}, distlock.Opts{RetryCount: 2}, 1},
		"after a place":  {[]error{driver.ErrNotAcquired, driver.ErrNotAcquired}, distlock.Opts{RetryCount: 2}, 1},
		"busy, no queue": {[]error{driver.ErrNotAcquired}, distlock.Opts{RetryCount: 1}, 0},
	} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			n := 0
			s.Before(func(_ context.Context, call *testkit.Call) error {
				if call.Op == testkit.Release || call.Op == testkit.Turn {
					return nil
				}
				n++
				return c.faults[min(n, len(c.faults))-1]
			})
			if _, err := l.Acquire(t.Context(), "k", c.opts); err == nil || n < len(c.faults) {
				t.Errorf("%v after %d attempts", err, n)
			}
			synctest.Wait()
			wantCalls(t, s, testkit.Release, c.want)
		})
	}
}

func TestMinHold(t *testing.T) {
	for name, c := range map[string]struct {
		opts distlock.Opts
		runs time.Duration
		want time.Duration // how long the key is kept after the function
	}{
		"shorter than the lease":  {distlock.Opts{MinHold: 4 * time.Second}, time.Second, 3 * time.Second},
		"longer than the lease":   {distlock.Opts{MinHold: time.Hour}, time.Minute, 59 * time.Minute},
		"over":                    {distlock.Opts{MinHold: time.Minute}, time.Minute, 0},
		"long over":               {distlock.Opts{MinHold: time.Minute}, time.Hour, 0},
		"as long as MaxHold":      {distlock.Opts{MinHold: time.Minute, MaxHold: time.Minute}, time.Second, 59 * time.Second},
		"less than a millisecond": {distlock.Opts{MinHold: time.Second}, time.Second - 10, time.Millisecond},
	} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			var lease *distlock.Lease
			wantIs(t, l.Do(t.Context(), "k", c.opts, func(ctx context.Context) error {
				lease, _ = distlock.FromContext(ctx)
				time.Sleep(c.runs)
				return nil
			}))
			wantIs(t, lease.Check(), distlock.ErrLost)
			wantIs(t, context.Cause(lease.Context()), distlock.ErrLost)
			if l.Keys() != 0 || l.Watched() != 0 {
				t.Errorf("%d keys at the gate, %d watched", l.Keys(), l.Watched())
			}
			renewals := len(s.Calls(testkit.Renew))
			wantFreeAfter(t, s, "k", time.Now(), c.want)
			if len(s.Calls(testkit.Renew)) != renewals {
				t.Error("renewed after the release: it could be for ever")
			}
			if c.want == 0 {
				wantCalls(t, s, testkit.Release, 1) // and not kept for a negative time
			}
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

func TestReadersShareOneLease(t *testing.T) {
	for _, c := range []struct {
		tokens, bound int
		config        distlock.Config
	}{
		{65, 64, distlock.Config{}}, // the store answers in no time
		{4, 3, distlock.Config{}},
		{0, 64, distlock.Config{}}, // the limit also applies without tokens
		{1, 0, distlock.Config{HandOverTime: -1}},
	} {
		bound, config := c.bound, c.config
		synctest.Test(t, func(t *testing.T) {
			const readers = 100
			s := testkit.NewStore()
			s.LimitTokens(c.tokens)
			var mu sync.Mutex
			handed := 0
			released := 0
			config.Hooks.Event = func(_ context.Context, e distlock.Event) {
				mu.Lock()
				defer mu.Unlock()
				wantIs(t, e.Err)
				if e.HandedOver {
					handed++
				}
				if e.Kind == distlock.Released {
					released++
				}
			}
			l := testkit.NewLocker(t, s, config)
			var leases []*distlock.Lease
			for range readers {
				lease := testkit.MustAcquire(t, l, "k", reading)
				if n := len(leases); n > 0 && c.tokens > 0 && lease.Token() <= leases[n-1].Token() {
					t.Errorf("token %d after %d", lease.Token(), leases[n-1].Token())
				}
				leases = append(leases, lease)
			}
			want := (readers + bound) / (bound + 1)
			if n := len(s.Calls(testkit.Enqueue)); n != want || l.Watched() != want || handed != readers-want {
				t.Errorf("bound %d: %d acquisitions in the store, %d watched, %d handed over; want %d, %d, %d",
					bound, n, l.Watched(), handed, want, want, readers-want)
			}
			slices.Reverse(leases[1:]) // the first reader of each grant leaves first or last
			for i, lease := range leases {
				for _, other := range leases[i:] {
					wantIs(t, other.Check())
				}
				wantIs(t, lease.Release(t.Context()))
				wantIs(t, lease.Check(), distlock.ErrLost)
			}
			if n := len(s.Calls(testkit.Release)); n != want || released != readers {
				t.Errorf("bound %d: %d releases in the store, %d told, want %d and %d", bound, n, released, want, readers)
			}
			nothingLeft(t, l, s)
		})
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
			readers = append(readers, inBackground(t, l, reading))
		}
		wantIs(t, held.Release(t.Context()))
		for _, r := range readers {
			_ = mustGet(t, r).Release(t.Context())
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
			line(t, &all, l, 1, distlock.Opts{}, func(ctx context.Context, _ int) {
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
