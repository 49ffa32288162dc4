package test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

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

// A release that the store answers after the end of the lease says nothing about the time before.
func TestLateReleaseIsNoLoss(t *testing.T) {
	bubbleCase(t, "late", func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		s.ShortAtFirst(500 * time.Millisecond)
		lease := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		s.Before(func(_ context.Context, c *testkit.Call) error {
			if c.Op == testkit.Release {
				time.Sleep(time.Second)
				s.Steal(t, "k")
			}
			return nil
		})
		wantIs(t, lease.Release(t.Context()), distlock.ErrUnavailable)
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
		if d := time.Since(start); d > time.Second+3*releaseTimeout {
			t.Errorf("it took %v", d)
		}
	})
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
			if n := len(s.Calls(testkit.Enqueue)); n != want || handed != readers-want {
				t.Errorf("bound %d: %d acquisitions in the store, %d handed over; want %d, %d",
					bound, n, handed, want, readers-want)
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
