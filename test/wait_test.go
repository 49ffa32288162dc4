package test

import (
	"context"
	"slices"
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
			Failed: func(_ context.Context, i distlock.FailedInfo) { waits = append(waits, i.Wait) },
		}})
		release := other(t, s, "k")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := l.Acquire(ctx, "k", distlock.Opts{})
		wantIs(t, err, distlock.ErrNotAcquired, context.DeadlineExceeded)

		l = testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{
			Acquired: func(_ context.Context, i distlock.AcquiredInfo) { waits = append(waits, i.Wait) },
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
		_, err := l.Acquire(t.Context(), "k", distlock.Opts{RetryCount: 2})
		wantIs(t, err, distlock.ErrNotAcquired)
		wantIs(t, mustGet(t, first).Release(t.Context()))
	})
}

// A failure is over when a later attempt finds the key held. The end of the context or of MaxWait,
// which hides the answer to the last attempt, does not bring it back.
func TestFailureBeforeARefusalIsNotTold(t *testing.T) {
	for name, c := range map[string]struct {
		opts distlock.Opts
		want []error
	}{
		"context": {distlock.Opts{}, []error{distlock.ErrNotAcquired, context.DeadlineExceeded}},
		"MaxWait": {distlock.Opts{MaxWait: maxWait}, []error{distlock.ErrNotAcquired, distlock.ErrUnavailable}}, // the last attempt had no answer
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
			_, err := l.Acquire(ctx, "k", c.opts)
			wantIs(t, err, c.want...)
			wantCalls(t, s, testkit.Try, 3)
		})
	}
}
