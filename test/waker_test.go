package test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func bubbleWaking(t *testing.T, f func(t *testing.T, s *testkit.Store, l, other *distlock.Locker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		l, other := testkit.NewLocker(t, s.Only(testkit.Waking), distlock.Config{}), testkit.NewLocker(t, s.Only(testkit.Waking), distlock.Config{})
		f(t, s, l, other)
	})
}

// rarely is a wait between attempts that is longer than any test.
const rarely = time.Hour

func TestWakerWakesAtOnce(t *testing.T) {
	bubbleWaking(t, func(t *testing.T, s *testkit.Store, l, other *distlock.Locker) {
		held := testkit.MustAcquire(t, other, "k", distlock.Opts{})
		if s.Watches() != 0 {
			t.Error("a free key is watched")
		}
		go func() {
			time.Sleep(3 * time.Second)
			wantIs(t, held.Release(t.Context()))
		}()
		start := time.Now()
		got := testkit.MustAcquire(t, l, "k", distlock.Opts{RetryInterval: rarely})
		wantTook(t, start, 3*time.Second)
		if n := s.Watches(); n != 0 {
			t.Errorf("%d watches are left", n)
		}
		wantIs(t, got.Release(t.Context()))
	})
}

// The key becomes free after the refusal and before the watch begins: there is no message
// for that, so the first value of the watch must lead to an attempt.
func TestWakerReleasedBeforeTheWatch(t *testing.T) {
	bubbleWaking(t, func(t *testing.T, s *testkit.Store, l, other *distlock.Locker) {
		held := testkit.MustAcquire(t, other, "k", distlock.Opts{})
		s.Before(func(_ context.Context, c *testkit.Call) error {
			if c.Op == testkit.Wake {
				wantIs(t, held.Release(t.Context()))
			}
			return nil
		})
		start := time.Now()
		got := testkit.MustAcquire(t, l, "k", distlock.Opts{RetryInterval: rarely})
		wantTook(t, start, 0)
		wantIs(t, got.Release(t.Context()))
	})
}

// Attempts after a message are not those of RetryCount, and the polls go on.
func TestWakerDoesNotSpendAttempts(t *testing.T) {
	bubbleWaking(t, func(t *testing.T, s *testkit.Store, l, other *distlock.Locker) {
		held := testkit.MustAcquire(t, other, "k", distlock.Opts{})
		const messages = 20
		go func() {
			for range messages {
				time.Sleep(10 * time.Millisecond)
				s.WakeAll()
			}
		}()
		start, before := time.Now(), len(s.Calls(testkit.Try))
		_, err := l.Acquire(t.Context(), "k", distlock.Opts{RetryCount: 3, RetryInterval: time.Second})
		wantIs(t, err, distlock.ErrNotAcquired)
		if d := time.Since(start); d < 2*time.Second || d >= 4*time.Second {
			t.Errorf("gave up after %v, want two intervals", d)
		}
		// Three of its own, one when the watch began, and one for each message.
		if n := len(s.Calls(testkit.Try)) - before; n != 3+1+messages {
			t.Errorf("%d attempts, want %d", n, 3+1+messages)
		}
		wantIs(t, held.Release(t.Context()))
	})
}

// A caller that does not wait watches nothing. One that gives up ends its watch.
func TestWakerEndsItsWatch(t *testing.T) {
	bubbleWaking(t, func(t *testing.T, s *testkit.Store, l, other *distlock.Locker) {
		held := testkit.MustAcquire(t, other, "k", distlock.Opts{})
		_, err := l.Acquire(t.Context(), "k", distlock.Opts{RetryCount: 1})
		wantIs(t, err, distlock.ErrNotAcquired)
		if n := len(s.Calls(testkit.Wake)); n != 0 {
			t.Error("a caller that does not wait watches the key")
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = l.Acquire(ctx, "k", distlock.Opts{RetryInterval: rarely})
		wantIs(t, err, distlock.ErrNotAcquired, context.DeadlineExceeded)
		_, err = l.Acquire(t.Context(), "k", distlock.Opts{RetryInterval: rarely, MaxWait: time.Second})
		wantIs(t, err, distlock.ErrNotAcquired)
		if n := s.Watches(); n != 0 {
			t.Errorf("%d watches are left", n)
		}
		wantIs(t, held.Release(t.Context()))
	})
}
