package test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Each hook gets the time that the caller has waited since its call, also if it is the
// only hook.
func TestHooksAreToldTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		var waits []time.Duration
		l := testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{
			Event: testkit.On{
				distlock.Failed: func(_ context.Context, i distlock.Event) { waits = append(waits, i.Wait) },
			}.Event,
		}})
		release := other(t, s, "k")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := l.Acquire(ctx, "k", distlock.Opts{})
		wantIs(t, err, distlock.ErrNotAcquired, context.DeadlineExceeded)

		l = testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{
			Event: testkit.On{
				distlock.Acquired: func(_ context.Context, i distlock.Event) { waits = append(waits, i.Wait) },
			}.Event,
		}})
		time.AfterFunc(3*time.Second, release)
		wantIs(t, testkit.MustAcquire(t, l, "k", distlock.Opts{}).Release(t.Context()))
		if want := []time.Duration{5 * time.Second, 3 * time.Second}; !slices.Equal(waits, want) {
			t.Errorf("told of %v, want %v", waits, want)
		}
	})
}

// A waiter that stops at the gate does not get an error of the backend that has been
// resolved.
func TestTroubleThatIsOverIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		l := testkit.NewLocker(t, s.Only(0), distlock.Config{})
		s.LoseReplies(testkit.Try, 1)
		first := inBackground(t, l, distlock.Opts{RetryInterval: 100 * time.Millisecond})
		wantIs(t, testkit.ErrorOf(l.Acquire(t.Context(), "k", distlock.Opts{RetryCount: 2})), distlock.ErrNotAcquired)
		wantIs(t, mustGet(t, first).Release(t.Context()))
	})
}

// A failure is over when a later attempt finds the key held. The end of the context or of MaxWait,
// which hides the answer to the last attempt, does not bring it back.
func TestFailureBeforeARefusalIsNotTold(t *testing.T) {
	for name, c := range map[string]struct {
		opts distlock.Opts
		held time.Duration // by the holder of the last answer
		want []error
	}{
		"context": {distlock.Opts{}, 2 * maxWait, []error{distlock.ErrNotAcquired, context.DeadlineExceeded}},
		"MaxWait": {distlock.Opts{MaxWait: maxWait}, 0, []error{distlock.ErrNotAcquired, distlock.ErrUnavailable}}, // the last attempt had no answer
	} {
		testkit.InBubble(t, name, func(t *testing.T) {
			s := testkit.NewStore()
			l := testkit.NewLocker(t, s.Only(0), distlock.Config{})
			defer other(t, s, "k")()
			s.Before(func(ctx context.Context, c *testkit.Call) error {
				switch n := len(s.Calls(testkit.Try)); {
				case c.Op == testkit.Try && n == 1:
					return testkit.ErrBroken
				case c.Op == testkit.Try && n > 2:
					<-ctx.Done()
					return ctx.Err()
				default:
					return nil
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 2*maxWait)
			defer cancel()
			err := testkit.ErrorOf(l.Acquire(ctx, "k", c.opts))
			wantIs(t, err, c.want...)
			held := new(distlock.HeldError)
			if errors.As(err, &held); held.Held != c.held {
				t.Errorf("held for %v, want %v: %v", held.Held, c.held, err)
			}
			wantCalls(t, s, testkit.Try, 3)
		})
	}
}

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
			if c.Op == testkit.Turn {
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

// Attempts after a message are not counted by RetryCount, and the polls go on.
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
		wantIs(t, testkit.ErrorOf(l.Acquire(t.Context(), "k", distlock.Opts{RetryCount: 1})), distlock.ErrNotAcquired)
		if n := len(s.Calls(testkit.Turn)); n != 0 {
			t.Error("a caller that does not wait watches the key")
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := l.Acquire(ctx, "k", distlock.Opts{RetryInterval: rarely})
		wantIs(t, err, distlock.ErrNotAcquired, context.DeadlineExceeded)
		_, err = l.Acquire(t.Context(), "k", distlock.Opts{RetryInterval: rarely, MaxWait: time.Second})
		wantIs(t, err, distlock.ErrNotAcquired)
		if n := s.Watches(); n != 0 {
			t.Errorf("%d watches are left", n)
		}
		wantIs(t, held.Release(t.Context()))
	})
}

// A waiter that learns too late that it had the key waits anew, and is told of its turn again.
func TestWaiterListensAfterALateGrant(t *testing.T) {
	for name, lost := range map[string]int32{"message": 0, "reply": 1} {
		testkit.InBubble(t, name, func(t *testing.T) {
			s := testkit.NewStore()
			l := testkit.NewLocker(t, s, distlock.Config{})
			release := other(t, s, "k")
			var grants atomic.Int32
			s.After(func(_ context.Context, c *testkit.Call) error {
				if c.Op != testkit.Enqueue {
					return nil
				}
				switch grants.Add(1) - 1 {
				case lost:
					time.Sleep(time.Minute)
					s.Steal(t, "k")
				case lost - 1:
					return testkit.ErrBroken
				}
				return nil
			})
			got := inBackground(t, l, distlock.Opts{KeyTimeout: time.Minute, RetryInterval: 2 * time.Minute})
			release()
			time.Sleep(10 * time.Minute)
			start := time.Now()
			s.Memory().Drop("k")
			lease := mustGet(t, got)
			wantTook(t, start, 0)
			wantIs(t, lease.Release(t.Context()))
		})
	}
}

// A grant that waits to be received when an attempt is refused is over.
func TestGrantBeforeARefusalIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		l := testkit.NewLocker(t, s, distlock.Config{})
		release := other(t, s, "k")
		attempts := 0
		s.Before(func(_ context.Context, c *testkit.Call) error {
			if c.Op != testkit.Enqueue {
				return nil
			}
			if attempts++; attempts == 2 {
				release()
				time.Sleep(time.Second) // the message comes
				s.Steal(t, "k")
			}
			return nil
		})
		start := time.Now()
		_, err := l.Acquire(t.Context(), "k", distlock.Opts{RetryInterval: 10 * time.Second, MaxWait: time.Minute})
		wantIs(t, err, distlock.ErrNotAcquired)
		wantTook(t, start, time.Minute)
	})
}
