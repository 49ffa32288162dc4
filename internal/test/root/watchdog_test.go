package test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// MaxHold counts from the request, as the lease does: the answer takes a while.
func TestMaxHoldEndsTheLease(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		s.After(func(_ context.Context, c *testkit.Call) error {
			if c.Op == testkit.Enqueue {
				time.Sleep(time.Second / 2)
			}
			return nil
		})
		start := time.Now()
		err := l.Do(t.Context(), "k", distlock.Opts{KeyTimeout: time.Second, MaxHold: time.Minute}, func(ctx context.Context) error {
			lease, _ := distlock.FromContext(ctx)
			<-ctx.Done()
			if d := time.Since(start); d != time.Minute || !errors.Is(context.Cause(ctx), distlock.ErrLost) {
				t.Errorf("cancelled after %v: %v", d, context.Cause(ctx))
			}
			if lease.Check() == nil {
				t.Error("valid after MaxHold")
			}
			time.Sleep(time.Second)
			mustBeFree(t, s, "k")
			return nil
		})
		wantIs(t, err, distlock.ErrLost)
	})
}

// A function that hangs keeps the key in its process, but not in the store, and whoever asks
// is told so.
func TestMaxHoldOfAFunctionThatHangs(t *testing.T) {
	for name, o := range map[string]distlock.Opts{
		"writer": {KeyTimeout: time.Hour, MaxHold: time.Minute}, "renewed": {KeyTimeout: time.Minute, MaxHold: 90 * time.Second},
		"reader": {KeyTimeout: time.Hour, MaxHold: time.Minute, Mode: distlock.Shared},
		"permit": {KeyTimeout: time.Hour, MaxHold: time.Minute, Permits: 1},
	} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			rival := testkit.NewLocker(t, s, distlock.Config{})
			start := time.Now()
			held := testkit.MustAcquire(t, l, "k", o)
			if infos, err := admin.Inspect(t.Context(), l, "k", 1); err != nil || len(infos) != 1 || !infos[0].KeptSince.IsZero() {
				t.Errorf("while it holds the key: %+v, %v", infos, err)
			}
			next := testkit.MustAcquire(t, rival, "k", distlock.Opts{Permits: o.Permits})
			if d := time.Since(start); d != o.MaxHold {
				t.Errorf("another process got the key after %v", d)
			}
			wantIs(t, held.Check(), distlock.ErrLost)
			time.Sleep(time.Second)
			_, err := l.TryAcquire(t.Context(), "k", distlock.Opts{})
			e := new(distlock.HeldError)
			if !errors.As(err, &e) || !e.Local || !e.Over || e.Held != o.MaxHold+time.Second {
				t.Errorf("a caller of the same process: %v", err)
			}
			for _, holders := range []int{1, 0} {
				infos, err := admin.Inspect(t.Context(), l, "k", 1)
				if wantIs(t, err); len(infos) != 1 || infos[0].Held != holders || !infos[0].KeptSince.Equal(start) {
					t.Errorf("while the rival has it: %d; %+v", holders, infos)
				}
				_ = next.Release(t.Context())
			}
			infos, err := admin.Inspect(t.Context(), l, "other", 1)
			if wantIs(t, err); len(infos) != 0 {
				t.Errorf("another prefix: %+v", infos)
			}
			wantIs(t, held.Release(t.Context()), distlock.ErrLost)
			mustBeFree(t, s, "k")
			if infos, err := admin.Inspect(t.Context(), l, "", 1); err != nil || len(infos) != 0 {
				t.Errorf("after its return: %+v, %v", infos, err)
			}
		})
	}
}

// Of several functions that hang with permits of one key, the oldest is told.
func TestKeptSinceTheOldest(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
		start := time.Now()
		var all []*distlock.Lease
		for range 3 {
			all = append(all, testkit.MustAcquire(t, l, "k", distlock.Opts{Permits: 3, MaxHold: time.Minute}))
			time.Sleep(time.Second)
		}
		all = append(all, testkit.MustAcquire(t, l, "k2", distlock.Opts{MaxHold: time.Minute})) // beyond the limit
		time.Sleep(time.Hour)
		infos, err := admin.Inspect(t.Context(), l, "k", 1)
		if wantIs(t, err); len(infos) != 1 || !infos[0].KeptSince.Equal(start) {
			t.Errorf("%+v, want since %v", infos, start)
		}
		for _, held := range all {
			wantIs(t, held.Release(t.Context()), distlock.ErrLost)
		}
	})
}

// Promise P2: without a reply the lease is not cancelled before its deadline, and is
// cancelled then, before the store may grant the key to another.
func TestUnansweredRenewalsAreTriedUntilTheDeadline(t *testing.T) {
	for name, hang := range map[string]bool{"refused": false, "hung": true} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			const ttl = 3 * time.Second
			held := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: ttl})
			start := time.Now()
			if hang {
				s.Hang(testkit.Renew)
			} else {
				s.Fail(testkit.ErrBroken, testkit.Renew)
			}
			<-held.Context().Done()
			if d, want := time.Since(start), ttl-clock.Margin(ttl); d != want {
				t.Errorf("cancelled after %v, want %v", d, want)
			}
			if s.Free(t, "k") {
				t.Error("cancelled only after the key was free")
			}
			if n := len(s.Calls(testkit.Renew)); !hang && n < 4 {
				t.Errorf("only %d attempts to renew", n)
			}
			s.Fail(nil)
			wantIs(t, held.Release(t.Context()), distlock.ErrLost)
			mustBeFree(t, s, "k")
		})
	}
}

// spread is a store of several servers, one of which hangs: it renews the keys that
// begin with "hung:" when ctx ends, and all others at once.
type spread struct{ *testkit.Store }

func (s spread) Renew(ctx context.Context, grants []driver.Grant, report func(int, error)) {
	hung := false
	for i, g := range grants {
		if strings.HasPrefix(g.Key, "hung:") {
			hung = true
			continue
		}
		s.Store.Renew(ctx, []driver.Grant{g}, func(_ int, r error) { report(i, r) })
	}
	if hung {
		<-ctx.Done()
	}
}

// A server that hangs only costs the leases on it, however many others there are and
// however their renewals are batched.
func TestHungServerDelaysNoOther(t *testing.T) {
	bubble(t, func(t *testing.T, _ *distlock.Locker, s *testkit.Store) {
		l := testkit.NewLocker(t, spread{s}, distlock.Config{})
		var healthy, hung []*distlock.Lease
		for i := range 200 {
			healthy = append(healthy, testkit.MustAcquire(t, l, fmt.Sprint("healthy:", i), distlock.Opts{KeyTimeout: 3 * time.Second}))
			hung = append(hung, testkit.MustAcquire(t, l, fmt.Sprint("hung:", i), distlock.Opts{KeyTimeout: 3 * time.Second}))
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		for i := range hung {
			wantIs(t, hung[i].Check(), distlock.ErrLost)
			wantIs(t, healthy[i].Check())
			wantIs(t, healthy[i].Release(t.Context()))
		}
	})
}

func TestWatchdogSendsBatches(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		const leases = 5000
		before := runtime.NumGoroutine()
		for i := range leases {
			testkit.MustAcquire(t, l, fmt.Sprint("k", i), distlock.Opts{KeyTimeout: 30 * time.Second})
		}
		synctest.Wait() // what only starts or ends is not counted
		if n := runtime.NumGoroutine() - before; n > 2 {
			t.Errorf("%d goroutines for %d leases", n, leases)
		}
		time.Sleep(time.Minute)
		// six or seven times each, in no more requests than the schedule has slots
		calls, renewals := s.Calls(testkit.Renew), 0
		for _, c := range calls {
			renewals += len(c.Grants)
		}
		if len(calls) > 64*6+1 || renewals < 6*leases || renewals > 7*leases {
			t.Errorf("%d requests with %d renewals of %d leases for a minute", len(calls), renewals, leases)
		}
	})
}

func TestWatchdogSleepsWithNothingToDo(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		wantIs(t, held.Release(t.Context()))
		synctest.Wait()
		time.Sleep(time.Hour) // a timer in a loop would make time pass in small steps
		held = testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: time.Second})
		time.Sleep(time.Minute)
		wantIs(t, held.Check())
		wantIs(t, held.Release(t.Context()))
	})
}

// A request for several leases may take a third of the shortest lease, so that there is
// time for another request.
func TestBatchTakesAThirdOfItsShortestLease(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		var mu sync.Mutex
		mixed := 0
		s.Before(func(ctx context.Context, c *testkit.Call) error {
			if c.Op != testkit.Renew {
				return nil
			}
			shortest, longest := c.Grants[0].TTL, c.Grants[0].TTL
			for _, g := range c.Grants {
				shortest, longest = min(shortest, g.TTL), max(longest, g.TTL)
			}
			if deadline, _ := ctx.Deadline(); time.Until(deadline) != shortest/3 {
				t.Errorf("leases of %v to %v are given %v", shortest, longest, time.Until(deadline))
			}
			if shortest < longest {
				mu.Lock()
				mixed++
				mu.Unlock()
			}
			return nil
		})
		for i := range 300 {
			ttl := []time.Duration{3 * time.Second, 30 * time.Second}[i%2]
			testkit.MustAcquire(t, l, fmt.Sprint("k", i), distlock.Opts{KeyTimeout: ttl})
		}
		time.Sleep(5 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if mixed == 0 {
			t.Error("no request had leases of both lengths")
		}
	})
}

// Leases that begin together are not renewed together, and not retried together when
// there was no answer.
func TestRenewalsSpread(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		const leases, third = 200, 10 * time.Second
		start := time.Now()
		for i := range leases {
			testkit.MustAcquire(t, l, fmt.Sprint("k", i), distlock.Opts{KeyTimeout: 3 * third})
		}
		s.Fail(testkit.ErrBroken, testkit.Renew)
		time.Sleep(2 * third)
		first, pauses := make(map[time.Duration]int), make(map[time.Duration]int)
		renewed := make(map[string][]time.Time)
		for _, c := range s.Calls(testkit.Renew) {
			for _, g := range c.Grants {
				renewed[g.Key] = append(renewed[g.Key], c.At)
			}
		}
		for _, at := range renewed {
			first[at[0].Sub(start)]++
			pauses[at[1].Sub(at[0])]++
		}
		// a tenth of a third has six or seven of the 64 slots of a third
		for d := range first {
			if d > third || d < third-third/10-third/64 {
				t.Errorf("the first renewal of a lease of %v went out after %v", 3*third, d)
			}
		}
		if len(first) < 4 {
			t.Errorf("%d leases were renewed at %d moments: %v", leases, len(first), first)
		}
		// a quarter of that for the next attempt
		if len(pauses) < 2 {
			t.Errorf("%d renewals were tried again after %v", leases, pauses)
		}
	})
}
