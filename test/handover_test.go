package test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/leasestate"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestHandOverNeedsNoRoundTrip(t *testing.T) {
	for bound, config := range map[int]distlock.Config{
		64: {}, // the store answers in no time
		9:  {},
		0:  {HandOverTime: -1},
	} {
		t.Run(fmt.Sprint(bound), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const waiters = 500
				s := testkit.NewStore()
				s.LimitTokens(bound + 1)
				var handed, fresh atomic.Int64
				config.Hooks.Acquired = func(_ context.Context, i distlock.AcquiredInfo) {
					if i.HandedOver {
						handed.Add(1)
					} else {
						fresh.Add(1)
					}
				}
				l := testkit.NewLocker(t, s, config)
				held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
				var all sync.WaitGroup
				inside := false
				last := held.Token()
				order := 0
				line(t, &all, l, waiters, distlock.Opts{}, func(ctx context.Context, i int) {
					lease, _ := distlock.FromContext(ctx)
					if inside || lease.Check() != nil || lease.Token() <= last || i != order {
						t.Errorf("holder %d in place %d: overlap %v, valid %v, token %d after %d", i, order, inside, lease.Check() == nil, lease.Token(), last)
					}
					inside, last = true, lease.Token()
					order++
					synctest.Wait() // any other caller would enter now
					inside = false
				})
				wantIs(t, held.Release(t.Context()))
				all.Wait()

				want := (waiters + 1 + bound) / (bound + 1)
				if got := len(s.Calls(testkit.Wait)); got != want || len(s.Calls(testkit.Release)) != want || fresh.Load() != int64(want) {
					t.Errorf("%d acquisitions and %d releases in the store, %d by the hooks, want %d", got, len(s.Calls(testkit.Release)), fresh.Load(), want)
				}
				if handed.Load() != int64(waiters+1-want) {
					t.Errorf("%d handed over, want %d", handed.Load(), waiters+1-want)
				}
				nothingLeft(t, l, s)
			})
		})
	}
}

func TestOthersGetTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		l := testkit.NewLocker(t, s, distlock.Config{HandOverTime: time.Hour}) // only the count is tested
		other := testkit.NewLocker(t, s, distlock.Config{HandOverTime: time.Hour})
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		var all sync.WaitGroup
		var order []string // protected by the lock
		note := func(who string) func(context.Context, int) {
			return func(context.Context, int) {
				order = append(order, who)
				time.Sleep(time.Millisecond) // time for the next waiter of the other Locker to queue
			}
		}
		line(t, &all, l, 300, distlock.Opts{}, note("l"))
		line(t, &all, other, 100, distlock.Opts{}, note("o"))
		wantIs(t, held.Release(t.Context()))
		all.Wait()
		run, longest := 0, 0
		seen := map[string]int{}
		for i, who := range order {
			if i > 0 && order[i-1] != who {
				run = 0
			}
			run++
			seen[who]++
			if seen["l"] < 300 && seen["o"] < 100 {
				longest = max(longest, run)
			}
		}
		if seen["l"] != 300 || seen["o"] != 100 {
			t.Errorf("served: %v", seen)
		}
		if longest > 64+1 {
			t.Errorf("one process had the lock %d times in a row while the other waited", longest)
		}
	})
}

func TestHandOverEndsWithItsTime(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		var all sync.WaitGroup
		line(t, &all, l, 50, distlock.Opts{}, func(context.Context, int) { time.Sleep(20 * time.Millisecond) })
		wantIs(t, held.Release(t.Context()))
		all.Wait()
		// each grant is used until the first holder that ends after at least 100 ms
		if got, want := len(s.Calls(testkit.Wait)), 10; got < want || got > want+1 {
			t.Errorf("%d acquisitions for 50 holders of 20 ms, want %d", got, want)
		}
	})
}

func TestOnlyTheSameTermsAreHandedOver(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: time.Second})
		var all sync.WaitGroup
		for _, o := range []distlock.Opts{
			{KeyTimeout: time.Minute},
			{KeyTimeout: time.Minute, MaxHold: time.Hour},
			{KeyTimeout: 2 * time.Minute},
			{KeyTimeout: time.Minute},
			{KeyTimeout: time.Minute, MaxHold: time.Hour},
		} {
			line(t, &all, l, 1, o, func(ctx context.Context, _ int) {
				lease, _ := distlock.FromContext(ctx)
				if d := time.Until(lease.Until()); d < 50*time.Second {
					t.Errorf("%+v: the lease ends in %v", o, d)
				}
			})
		}
		wantIs(t, held.Release(t.Context()))
		all.Wait()
		if n := len(s.Calls(testkit.Wait)); n != 4 {
			t.Errorf("%d acquisitions in the store, want 4: two had the terms of the one before", n)
		}
	})
}

func TestMaxHoldIsEachHoldersOwn(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{MaxHold: time.Minute})
		var all sync.WaitGroup
		all.Go(func() {
			wantIs(t, l.Do(t.Context(), "k", distlock.Opts{MaxHold: 2 * time.Second}, func(ctx context.Context) error {
				start := time.Now()
				<-ctx.Done()
				if d := time.Since(start); d != 2*time.Second {
					t.Errorf("cancelled after %v", d)
				}
				return nil
			}), distlock.ErrLost)
		})
		synctest.Wait()
		all.Go(func() {
			wantIs(t, l.Do(t.Context(), "k", distlock.Opts{}, func(context.Context) error {
				time.Sleep(time.Hour)
				return nil
			}))
		})
		synctest.Wait()
		wantIs(t, held.Release(t.Context()))
		all.Wait()
		if n := len(s.Calls(testkit.Wait)); n != 2 {
			t.Errorf("%d acquisitions in the store, want 2: the lost hold is not handed on", n)
		}
	})
}

// The next holder's renewals do not depend on the time of the holder before, whatever
// MaxHold they have.
func TestRenewalsOfAHandedOverLock(t *testing.T) {
	const ttl = time.Second
	for name, c := range map[string]struct{ before, next time.Duration }{ // MaxHold
		"just below the lease":     {980 * time.Millisecond, 0},
		"below the lease":          {500 * time.Millisecond, 0},
		"followed by a longer one": {500 * time.Millisecond, time.Minute},
		"longer than the lease":    {time.Minute, 0},
		"none before":              {0, time.Minute},
		"none":                     {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
				s.Delay(20*time.Millisecond, testkit.Renew)
				held := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: ttl, MaxHold: c.before})
				start := time.Now()
				next := inBackground(t, l, distlock.Opts{KeyTimeout: ttl, MaxHold: c.next})
				time.Sleep(50 * time.Millisecond)
				wantIs(t, held.Release(t.Context()))
				got := mustGet(t, next)
				time.Sleep(10 * time.Second)
				wantIs(t, got.Check())
				if d := s.Calls(testkit.Renew)[0].At.Sub(start); d > ttl/3 {
					t.Errorf("the first renewal went out after %v", d)
				}
				wantCalls(t, s, testkit.Wait, 1)
				wantIs(t, got.Release(t.Context()))
			})
		})
	}
}

// A lease that is lost, or has an unanswered renewal, is not handed over.
func TestDoubtfulHoldIsNotHandedOver(t *testing.T) {
	for name, spoil := range map[string]func(*testkit.Store, *distlock.Lease){
		"unanswered": func(s *testkit.Store, _ *distlock.Lease) {
			s.Fail(testkit.ErrBroken, testkit.Renew)
			time.Sleep(70 * time.Millisecond)
		},
		"dropped": func(s *testkit.Store, h *distlock.Lease) { s.Memory().Drop("k"); <-h.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
				o := distlock.Opts{KeyTimeout: 100 * time.Millisecond}
				held := testkit.MustAcquire(t, l, "k", o)
				var all sync.WaitGroup
				line(t, &all, l, 1, o, func(ctx context.Context, _ int) {
					lease, _ := distlock.FromContext(ctx)
					wantIs(t, lease.Check())
				})
				spoil(s, held)
				_ = held.Release(t.Context())
				all.Wait()
				if n := len(s.Calls(testkit.Wait)); n != 2 {
					t.Errorf("%d acquisitions in the store, want 2", n)
				}
			})
		})
	}
}

// A waiter that leaves at the moment when the lease is handed to it passes the lease
// on.
func TestCancelledWaiterPassesTheHoldOn(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		ctx, cancel := context.WithCancel(t.Context())
		leaving := &leavingCtx{Context: ctx}
		var all sync.WaitGroup
		all.Go(func() {
			_, err := l.Acquire(leaving, "k", distlock.Opts{})
			wantIs(t, err, distlock.ErrNotAcquired, context.Canceled)
		})
		synctest.Wait()
		served := false
		line(t, &all, l, 1, distlock.Opts{}, func(context.Context, int) { served = true })
		var released error
		leaving.inTheMoment = func() { released = held.Release(t.Context()) }
		cancel()
		all.Wait()
		wantIs(t, released)
		if n := len(s.Calls(testkit.Wait)); n != 1 {
			t.Errorf("%d acquisitions in the store: the hold went astray", n)
		}
		if !served || !s.Free(t, "k") {
			t.Errorf("served %v, free %v", served, s.Free(t, "k"))
		}

		// the same without further waiters
		held = testkit.MustAcquire(t, l, "k", distlock.Opts{})
		ctx, cancel = context.WithCancel(t.Context())
		leaving = &leavingCtx{Context: ctx}
		all.Go(func() { _, _ = l.Acquire(leaving, "k", distlock.Opts{}) })
		synctest.Wait()
		leaving.inTheMoment = func() { released = held.Release(t.Context()) }
		cancel()
		all.Wait()
		synctest.Wait()
		nothingLeft(t, l, s)
	})
}

// The holder's own limit does not end the lease in the store.
func TestMaxHoldDoesNotPreventHandOver(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		o := distlock.Opts{MaxHold: 3 * time.Second} // much shorter than the lease
		held := testkit.MustAcquire(t, l, "k", o)
		var all sync.WaitGroup
		line(t, &all, l, 10, o, func(context.Context, int) {})
		wantIs(t, held.Release(t.Context()))
		all.Wait()
		if n := len(s.Calls(testkit.Wait)); n != 1 {
			t.Errorf("%d acquisitions in the store, want 1", n)
		}
	})
}

// The limit of hand-overs also applies without tokens, and a block with fewer tokens
// than requested ends the hand-overs too.
func TestHandOverWithFewTokens(t *testing.T) {
	for name, c := range map[string]struct {
		tokens int // in a block; 0: the backend has none
		want   int // acquisitions in the store
	}{
		"none":  {0, 4}, // 201 holders, 65 for each grant
		"one":   {1, 201},
		"three": {3, 67},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := testkit.NewStore()
				s.LimitTokens(c.tokens)
				l := testkit.NewLocker(t, s, distlock.Config{})
				held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
				var all sync.WaitGroup
				last := held.Token()
				line(t, &all, l, 200, distlock.Opts{}, func(ctx context.Context, _ int) {
					lease, _ := distlock.FromContext(ctx)
					if c.tokens > 0 && lease.Token() <= last || c.tokens == 0 && lease.Token() != 0 {
						t.Errorf("token %d after %d", lease.Token(), last)
					}
					last = lease.Token()
				})
				wantIs(t, held.Release(t.Context()))
				all.Wait()
				if got := len(s.Calls(testkit.Wait)); got != c.want {
					t.Errorf("%d acquisitions in the store, want %d", got, c.want)
				}
			})
		})
	}
}

// A released lease stays released although its record is used by the next holder.
func TestReleasedLeaseDoesNotComeBackWithTheHold(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		inner, err := l.Acquire(held.Context(), "k", distlock.Opts{})
		wantIs(t, err)
		var all sync.WaitGroup
		line(t, &all, l, 1, distlock.Opts{}, func(ctx context.Context, _ int) {
			lease, _ := distlock.FromContext(ctx)
			wantIs(t, lease.Check())
			wantIs(t, held.Check(), distlock.ErrLost)
			wantIs(t, inner.Check(), distlock.ErrLost)
			wantIs(t, held.Refresh(t.Context()), distlock.ErrLost)
			_, err := l.Acquire(context.WithoutCancel(held.Context()), "k", distlock.Opts{})
			wantIs(t, err, distlock.ErrLost)
		})
		wantIs(t, held.Release(t.Context()))
		all.Wait()
		wantIs(t, inner.Release(t.Context()), distlock.ErrLost)
	})
}

// A backend has bound the lease to its holder, because only the store knows when the next one
// may begin: the lease goes back to the store. The next lease of the key is handed over again.
func TestBoundLeaseIsNotHandedOver(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		bind, _ := held.Context().Value(leasestate.Binder{}).(func())
		bind()
		var all sync.WaitGroup
		line(t, &all, l, 3, distlock.Opts{}, func(context.Context, int) {})
		wantIs(t, held.Release(t.Context()))
		all.Wait()
		if n, released := len(s.Calls(testkit.Wait)), len(s.Calls(testkit.Release)); n != 2 || released != 2 {
			t.Errorf("%d acquisitions and %d releases in the store, want 2 of each", n, released)
		}
	})
}

func TestExtendThatFindsTheKeyLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		s.Delay(10*time.Millisecond, testkit.Extend) // until the next holder has the key
		s.LimitTokens(9)
		l := testkit.NewLocker(t, extending(s), distlock.Config{})
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		var all sync.WaitGroup
		line(t, &all, l, 1, distlock.Opts{}, func(context.Context, int) {})
		all.Go(func() { // the second hand-over: now the store is asked
			wantIs(t, l.Do(t.Context(), "k", distlock.Opts{}, func(ctx context.Context) error {
				start := time.Now()
				<-ctx.Done()
				wantIs(t, context.Cause(ctx), distlock.ErrLost)
				if d := time.Since(start); d != 10*time.Millisecond {
					t.Errorf("told after %v, want with the answer", d)
				}
				return nil
			}), distlock.ErrLost)
		})
		synctest.Wait()
		s.Memory().Drop("k")
		wantIs(t, held.Release(t.Context()))
		all.Wait()
		nothingLeft(t, l, s)
	})
}
