package test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// If keys do not expire, as in a store with sessions, the key is released when its time
// has come.
func TestMinHoldIsReleasedInTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{MinHold: time.Minute})
		start := time.Now()
		time.Sleep(time.Second)
		wantIs(t, held.Release(t.Context()))
		wantIs(t, held.Release(t.Context()))
		if n := len(s.Calls(testkit.Release)); n != 0 {
			t.Fatalf("%d releases sent at once", n)
		}
		s.LoseReplies(testkit.Release, 1) // and again if there is no reply
		time.Sleep(time.Hour)
		calls := s.Calls(testkit.Release)
		if len(calls) != 2 || calls[0].At.Sub(start) != time.Minute {
			t.Errorf("releases: %v, started %v", calls, start)
		}
		nothingLeft(t, l, s)
	})
}

// A waiter in this process asks the store, and gets the key no earlier than a waiter in
// another process would.
func TestMinHoldIsNotHandedOver(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		o := distlock.Opts{MinHold: 5 * time.Second}
		start := time.Now()
		held := testkit.MustAcquire(t, l, "k", o)
		var all sync.WaitGroup
		line(t, &all, l, 1, o, func(context.Context, int) {
			wantTook(t, start, 5*time.Second)
			// The time of this holder has passed when it ends, so its lease is handed
			// over.
			time.Sleep(5 * time.Second)
		})
		time.Sleep(time.Millisecond)
		wantIs(t, held.Release(t.Context()))
		synctest.Wait()
		wantIs(t, testkit.ErrorOf(l.TryAcquire(t.Context(), "k", o)), distlock.ErrNotAcquired)
		all.Wait()
		if n := len(s.Calls(testkit.Enqueue)); n < 2 {
			t.Errorf("%d calls: the lease was handed over", n)
		}
	})
}

// MinHold counts from the hand-over, and each holder has its own.
func TestMinHoldOfAHandedOverLock(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		var all sync.WaitGroup
		line(t, &all, l, 1, distlock.Opts{MinHold: time.Minute}, func(context.Context, int) {
			time.Sleep(time.Second)
		})
		time.Sleep(50 * time.Millisecond)
		wantIs(t, held.Release(t.Context()))
		all.Wait()
		wantFreeAfter(t, s, "k", time.Now(), 59*time.Second)
		wantCalls(t, s, testkit.Enqueue, 1)
	})
}

func TestMinHoldOfAReentryIsTheOuters(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		again, err := l.Acquire(held.Context(), "k", distlock.Opts{MinHold: time.Hour})
		wantIs(t, err)
		wantIs(t, again.Release(t.Context()))
		wantIs(t, held.Check())
		wantIs(t, held.Release(t.Context()))
		mustBeFree(t, s, "k")
	})
}

func TestMinHoldOfALostLock(t *testing.T) {
	for name, lose := range map[string]func(*testkit.Store, *distlock.Lease){
		"noticed":   func(s *testkit.Store, h *distlock.Lease) { s.Memory().Drop("k"); <-h.Context().Done() },
		"unnoticed": func(s *testkit.Store, _ *distlock.Lease) { s.Memory().Drop("k") },
		"taken":     func(s *testkit.Store, _ *distlock.Lease) { s.Steal(t, "k") },
		"unanswered": func(s *testkit.Store, h *distlock.Lease) {
			s.Fail(testkit.ErrBroken, testkit.Renew)
			<-h.Context().Done()
			s.Fail(nil)
		},
	} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			held := testkit.MustAcquire(t, l, "k", distlock.Opts{MinHold: time.Hour})
			lose(s, held)
			renewals := len(s.Calls(testkit.Renew))
			wantIs(t, held.Release(t.Context()), distlock.ErrLost)
			if noticed := name == "noticed" || name == "unanswered"; noticed && len(s.Calls(testkit.Renew)) != renewals {
				t.Error("a lock that was known to be lost was renewed")
			}
			time.Sleep(time.Minute)
			if free := s.Free(t, "k"); free == (name == "taken") {
				t.Errorf("free %v", free)
			}
		})
	}
}

// The request to keep the key gets no reply: the caller is told, and the request is
// repeated before the lease expires.
func TestMinHoldWithoutAnAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{MinHold: time.Minute})
		start := time.Now()
		s.Fail(testkit.ErrBroken, testkit.Renew)
		wantIs(t, held.Release(t.Context()), distlock.ErrUnavailable, testkit.ErrBroken)
		time.Sleep(5 * time.Second)
		s.Fail(nil)
		wantFreeAfter(t, s, "k", start, time.Minute)

		// no further reply: the attempts end with the lease
		held = testkit.MustAcquire(t, l, "k", distlock.Opts{MinHold: time.Hour})
		s.Fail(testkit.ErrBroken, testkit.Renew, testkit.Release)
		wantIs(t, held.Release(t.Context()), distlock.ErrUnavailable, testkit.ErrBroken)
		time.Sleep(time.Minute)
		asked := len(s.Calls(testkit.Renew))
		time.Sleep(50 * time.Minute)
		if n := len(s.Calls(testkit.Renew)); n != asked {
			t.Errorf("%d more requests for a lease that ran out", n-asked)
		}
		released := len(s.Calls(testkit.Release))
		time.Sleep(10 * time.Minute)
		if len(s.Calls(testkit.Release)) == released {
			t.Error("the key may have been kept, and was not released")
		}
		mustBeFree(t, s, "k")
	})
}

// Close waits neither for the end of MinHold nor for a reply, and lets the key expire. MinHold
// also applies to a holder that Close interrupts, whether it releases the lock or not.
func TestMinHoldAtClose(t *testing.T) {
	const patience = 3 * time.Second
	release := func(h *distlock.Lease) { _ = h.Release(context.Background()) }
	for name, c := range map[string]struct {
		before func(s *testkit.Store, h *distlock.Lease)
		took   time.Duration
		left   time.Duration // after that
	}{
		"kept": {func(_ *testkit.Store, h *distlock.Lease) { release(h) }, 0, time.Minute},
		"unanswered": {func(s *testkit.Store, h *distlock.Lease) {
			s.Fail(testkit.ErrBroken, testkit.Renew)
			release(h)
		}, 0, distlock.DefaultKeyTimeout},
		"returns when told": {func(_ *testkit.Store, h *distlock.Lease) {
			context.AfterFunc(h.Context(), func() { release(h) })
		}, 0, time.Minute},
		"does not return": {func(*testkit.Store, *distlock.Lease) {}, patience, time.Minute - patience},
	} {
		testkit.InBubble(t, name, func(t *testing.T) {
			s := testkit.NewStore()
			l := distlock.New(s, distlock.Config{CloseTimeout: patience})
			held := testkit.MustAcquire(t, l, "k", distlock.Opts{MinHold: time.Minute})
			c.before(s, held)
			start := time.Now()
			wantIs(t, l.Close())
			wantTook(t, start, c.took)
			wantFreeAfter(t, s, "k", time.Now(), c.left)
			time.Sleep(time.Hour)
			wantCalls(t, s, testkit.Release, 0)
		})
	}
}

// stray makes s receive the nth call of op late. The caller waits for the reply for at most
// an operation timeout.
func stray(s *testkit.Store, op testkit.Op, nth int, delay time.Duration) {
	s.Before(func(ctx context.Context, c *testkit.Call) error {
		if c.Op != op || len(s.Calls(op)) != nth {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		arrived := make(chan struct{})
		time.AfterFunc(delay, func() {
			if op == testkit.Try {
				_, _ = s.Backend.TryAcquire(context.Background(), c.Request)
			} else { // an extension is a renewal, too
				driver.RenewAll(context.Background(), s.Backend, c.Grants)
			}
			close(arrived)
		})
		select {
		case <-ctx.Done():
		case <-arrived:
		}
		if op == testkit.Renew {
			return testkit.ErrSilent
		}
		return testkit.ErrBroken
	})
}

// A request that extends the lease gets no reply in time, and reaches the store when the
// key is already kept. It does not shorten the time, so the store is asked to keep it once.
func TestMinHoldOutlastsAStray(t *testing.T) {
	after := func(d time.Duration) func(*testing.T, *distlock.Lease) {
		return func(*testing.T, *distlock.Lease) { time.Sleep(d) }
	}
	refresh := func(t *testing.T, held *distlock.Lease) { _ = held.Refresh(t.Context()) }
	for name, c := range map[string]struct {
		op    testkit.Op
		delay time.Duration
		run   func(t *testing.T, held *distlock.Lease)
	}{
		"renewal":                {testkit.Renew, 20 * time.Second, after(5 * time.Second)},
		"renewal, under way":     {testkit.Renew, 20 * time.Second, after(3 * time.Second)},
		"renewal, and no answer": {testkit.Renew, 20 * time.Second, after(5 * time.Second)},
		"renewal, and an outage": {testkit.Renew, 20 * time.Second, after(5 * time.Second)},
		"renewal, very late":     {testkit.Renew, 50 * time.Second, after(5 * time.Second)},
		"renewal, at the end":    {testkit.Renew, 55 * time.Second, after(5 * time.Second)}, // for longer, but the key is released
		"renewal, long ago":      {testkit.Renew, 40 * time.Second, after(30 * time.Second)},
		"keeping":                {testkit.Renew, 20 * time.Second, after(time.Second)},
		"refresh":                {testkit.Renew, 20 * time.Second, refresh},
		"refresh, under way": {testkit.Renew, 20 * time.Second, func(t *testing.T, held *distlock.Lease) {
			go refresh(t, held)
			time.Sleep(time.Second)
		}},
		"attempt":  {testkit.Try, 20 * time.Second, after(time.Second)},
		"question": {testkit.Extend, 20 * time.Second, after(time.Second)},
	} {
		bubbleCase(t, name, func(t *testing.T, _ *distlock.Locker, s *testkit.Store) {
			b, nth := extending(s), 1
			if c.op == testkit.Try { // the second one, because the lock was held before
				b, nth = s.Only(0), 2
			}
			stray(s, c.op, nth, c.delay)
			s.LimitTokens(2)
			l := testkit.NewLocker(t, b, distlock.Config{})
			before := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: 6 * time.Second})
			if c.op != testkit.Extend {
				wantIs(t, before.Release(t.Context()))
			}
			next := inBackground(t, l, distlock.Opts{KeyTimeout: 6 * time.Second, MinHold: time.Minute})
			wantIs(t, before.Release(t.Context()))
			held := <-next
			start := time.Now()
			c.run(t, held)
			silent := func(d time.Duration) {
				s.Fail(testkit.ErrBroken, testkit.Renew)
				time.AfterFunc(d, func() { s.Fail(nil) })
			}
			if name == "renewal, and no answer" {
				silent(3 * time.Second)
			}
			_ = held.Release(t.Context())
			if name == "renewal, and an outage" {
				silent(c.delay - time.Since(start))
			}
			asked := len(s.Calls(testkit.Renew))
			wantFreeAfter(t, s, "k", start, time.Minute)
			if n := len(s.Calls(testkit.Renew)) - asked; n > 0 && name != "keeping" && name != "renewal, and no answer" {
				t.Errorf("asked %d more times to keep it", n)
			}
		})
	}
}

// An Extend request is in progress when the key is to be kept: the Locker waits for it,
// so that nothing can reach the store later, even if the process ends.
func TestMinHoldWaitsForAQuestionUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		s.Delay(50*time.Millisecond, testkit.Extend)
		s.LimitTokens(2)
		l := distlock.New(extending(s), distlock.Config{})
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		next := inBackground(t, l, distlock.Opts{MinHold: time.Minute})
		wantIs(t, held.Release(t.Context()))
		kept := mustGet(t, next)
		start := time.Now()
		wantCalls(t, s, testkit.Extend, 1)
		wantIs(t, kept.Release(t.Context()))
		wantTook(t, start, 50*time.Millisecond)
		wantIs(t, l.Close())
		wantFreeAfter(t, s, "k", start, time.Minute)
	})
}
