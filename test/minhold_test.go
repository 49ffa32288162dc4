package test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
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
		_, err := l.TryAcquire(t.Context(), "k", o)
		wantIs(t, err, distlock.ErrNotAcquired)
		all.Wait()
		wantCalls(t, s, testkit.Wait, 2)
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
		wantCalls(t, s, testkit.Wait, 1)
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
