package test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Each hook gets the time that the caller has waited since its call, also if it is the
// only hook, and if several keys were requested together.
func TestHooksAreToldTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		var waits []time.Duration
		acquired := func(_ context.Context, i distlock.AcquiredInfo) { waits = append(waits, i.Wait) }
		failed := func(_ context.Context, i distlock.FailedInfo) { waits = append(waits, i.Wait) }
		want := func(name string, d time.Duration, n int) {
			t.Helper()
			if len(waits) != n {
				t.Errorf("%s: told %d times, want %d", name, len(waits), n)
			}
			for _, got := range waits {
				if got != d {
					t.Errorf("%s: told of %v, want %v", name, got, d)
				}
			}
			waits = nil
		}

		l := testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{Failed: failed}})
		release := other(t, s, "k")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := l.Acquire(ctx, "k", distlock.Opts{})
		wantIs(t, err, distlock.ErrNotAcquired, context.DeadlineExceeded)
		want("failed", 5*time.Second, 1)

		l = testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{Acquired: acquired}})
		time.AfterFunc(3*time.Second, release)
		wantIs(t, testkit.MustAcquire(t, l, "k", distlock.Opts{}).Release(t.Context()))
		want("acquired", 3*time.Second, 1)

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
		_, err := l.Acquire(t.Context(), "k", distlock.Opts{RetryCount: 2})
		wantIs(t, err, distlock.ErrNotAcquired)
		wantIs(t, mustGet(t, first).Release(t.Context()))
	})
}
