package test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/leasestate"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Waiters get the lease in the order of their arrival, each with a larger token, until its
// tokens are used up.
func TestHandOverNeedsNoRoundTrip(t *testing.T) {
	for name, c := range map[string]struct {
		tokens, bound int
		config        distlock.Config
	}{
		"65 tokens":     {65, 64, distlock.Config{}},
		"ten tokens":    {10, 9, distlock.Config{}},
		"one token":     {1, 0, distlock.Config{}},
		"no tokens":     {0, 500, distlock.Config{}},
		"no hand-overs": {65, 0, distlock.Config{HandOverTime: -1}},
	} {
		testkit.InBubble(t, name, func(t *testing.T) {
			const waiters = 500
			s := testkit.NewStore()
			s.LimitTokens(c.tokens)
			var handed, fresh atomic.Int64
			c.config.Hooks.Event = testkit.On{distlock.Acquired: func(_ context.Context, i distlock.Event) {
				if i.HandedOver {
					handed.Add(1)
				} else {
					fresh.Add(1)
				}
			}}.Event
			l := testkit.NewLocker(t, s, c.config)
			held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
			var all sync.WaitGroup
			inside := false
			last := held.Token()
			order := 0
			line(t, &all, l, waiters, distlock.Opts{}, func(ctx context.Context, i int) {
				lease, _ := distlock.FromContext(ctx)
				rises := lease.Token() > last || c.tokens == 0 && lease.Token() == 0
				if inside || lease.Check() != nil || !rises || i != order {
					t.Errorf("holder %d in place %d: overlap %v, valid %v, token %d after %d", i, order, inside, lease.Check() == nil, lease.Token(), last)
				}
				inside, last = true, lease.Token()
				order++
				synctest.Wait() // any other caller would enter now
				inside = false
			})
			wantIs(t, held.Release(t.Context()))
			all.Wait()

			want := (waiters + 1 + c.bound) / (c.bound + 1)
			if got := len(s.Calls(testkit.Enqueue)); got != want || len(s.Calls(testkit.Release)) != want || fresh.Load() != int64(want) {
				t.Errorf("%d acquisitions and %d releases in the store, %d by the hooks, want %d", got, len(s.Calls(testkit.Release)), fresh.Load(), want)
			}
			if handed.Load() != int64(waiters+1-want) {
				t.Errorf("%d handed over, want %d", handed.Load(), waiters+1-want)
			}
			nothingLeft(t, l, s)
		})
	}
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
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
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
			wantCalls(t, s, testkit.Enqueue, 1)
			wantIs(t, got.Release(t.Context()))
		})
	}
}

// A waiter that leaves at the moment when the lease is handed to it passes the lease on, to
// the next waiter or to the store.
func TestCancelledWaiterPassesTheHoldOn(t *testing.T) {
	for _, behind := range []int{1, 0} {
		bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
			ctx, cancel := context.WithCancel(t.Context())
			leaving := &leavingCtx{Context: ctx}
			var all sync.WaitGroup
			inVain(leaving, t, l, &all, distlock.Opts{})
			served := 0
			line(t, &all, l, behind, distlock.Opts{}, func(context.Context, int) { served++ })
			leaving.inTheMoment = func() { wantIs(t, held.Release(t.Context())) }
			cancel()
			all.Wait()
			wantCalls(t, s, testkit.Enqueue, 1)
			if served != behind {
				t.Errorf("%d served, want %d", served, behind)
			}
			nothingLeft(t, l, s)
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
		if n, released := len(s.Calls(testkit.Enqueue)), len(s.Calls(testkit.Release)); n != 2 || released != 2 {
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
				wantTook(t, start, 10*time.Millisecond)
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
