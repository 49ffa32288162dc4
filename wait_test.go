package distlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
)

// Each hook gets the time that the caller has waited since its call, also if it is the
// only hook, and if several keys were requested together.
func TestHooksAreToldTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.joint = true
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

		l := distlock.New(s, distlock.Config{Hooks: distlock.Hooks{Failed: failed}})
		defer closeLocker(t, l)
		release := other(t, s, "k")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := l.Acquire(ctx, "k", distlock.Opts{})
		wantIs(t, err, distlock.ErrNotAcquired, context.DeadlineExceeded)
		want("failed", 5*time.Second, 1)

		l = distlock.New(s, distlock.Config{Hooks: distlock.Hooks{Acquired: acquired}})
		defer closeLocker(t, l)
		time.AfterFunc(3*time.Second, release)
		wantIs(t, mustAcquire(t, l, "k", distlock.Opts{}).Release(t.Context()))
		want("acquired", 3*time.Second, 1)

		s.before = func(c call) error {
			if c.op == "all" {
				time.Sleep(time.Second)
			}
			return nil
		}
		wantIs(t, mustAcquireAll(t, l, t.Context(), "a", "b", "c").Release(t.Context()))
		want("together", time.Second, 3)
	})
}

// A waiter that stops at the gate does not get an error of the backend that has been
// resolved.
func TestTroubleThatIsOverIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		l := distlock.New(polling{s}, distlock.Config{})
		defer closeLocker(t, l)
		s.loseReplies("try", 1)
		first := inBackground(t, l, distlock.Opts{RetryInterval: 100 * time.Millisecond})
		_, err := l.Acquire(t.Context(), "k", distlock.Opts{RetryCount: 2})
		wantIs(t, err, distlock.ErrNotAcquired)
		wantIs(t, mustGet(t, first).Release(t.Context()))
	})
}
