package test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A key that contains something else is held, not unavailable, also for the waiters
// behind in the process.
func TestForeign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		l := testkit.NewLocker(t, s.Only(0), distlock.Config{})
		s.Fail(fmt.Errorf("%w: a hash", distlock.ErrForeign), testkit.Try)
		const text = `distlock: acquire "k": lock not acquired: held by another kind of lock: a hash`
		want := []error{distlock.ErrForeign, distlock.ErrNotAcquired}
		_, err := l.TryAcquire(t.Context(), "k", distlock.Opts{})
		wantIs(t, err, want...)
		wantLine(t, err, text)

		errs := make(chan error)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		go func() {
			_, err := l.Acquire(ctx, "k", distlock.Opts{})
			errs <- err
		}()
		synctest.Wait()
		_, behind := l.TryAcquire(t.Context(), "k", distlock.Opts{})
		wantIs(t, behind, want...)
		wantLine(t, behind, text)
		err = <-errs
		wantIs(t, err, append(want, context.DeadlineExceeded)...)
		wantLine(t, err, text+": context deadline exceeded")
	})
}
