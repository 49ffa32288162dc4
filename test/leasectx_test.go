package test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// The context of a lease behaves like one of package context, whenever its methods are
// first called.
func TestLeaseContext(t *testing.T) {
	for name, look := range map[string]func(context.Context){
		"never looked at": func(context.Context) {},
		"Err":             func(c context.Context) { _ = c.Err() },
		"Done":            func(c context.Context) { _ = c.Done() },
		"Value":           func(c context.Context) { _ = c.Value("x") },
		"Deadline":        func(c context.Context) { _, _ = c.Deadline() },
	} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, store *testkit.Store) {
			// lost
			s := testkit.MustAcquire(t, l, "lost", distlock.Opts{})
			look(s.Context())
			mustLose(t, store, s)
			if name != "never looked at" {
				wantEnded(s.Context(), t, context.Canceled, distlock.ErrLost)
			}
			wantIs(t, s.Release(t.Context()), distlock.ErrLost)
			wantEnded(s.Context(), t, context.Canceled, distlock.ErrLost)
			// the first event is the cause: the loss, and not the release after it
			if cause := context.Cause(s.Context()); keyOf(cause) != "lost" || !strings.Contains(cause.Error(), "store says") {
				t.Errorf("the cause is %v", cause)
			}

			// released
			s = testkit.MustAcquire(t, l, "released", distlock.Opts{})
			look(s.Context())
			wantIs(t, s.Release(t.Context()))
			wantEnded(s.Context(), t, context.Canceled, distlock.ErrLost)

			// the parent ends, and then the lease is released
			parent, cancel := context.WithTimeoutCause(t.Context(), time.Second, errOfParent)
			defer cancel()
			s, err := l.Acquire(parent, "parent", distlock.Opts{})
			wantIs(t, err)
			look(s.Context())
			time.Sleep(2 * time.Second)
			if name != "never looked at" && name != "Deadline" {
				wantEnded(s.Context(), t, context.DeadlineExceeded, errOfParent)
			}
			if s.Context().Err() != context.DeadlineExceeded {
				t.Errorf("the parent has ended: %v", s.Context().Err())
			}
			_ = s.Release(t.Context())
			wantEnded(s.Context(), t, context.DeadlineExceeded, errOfParent)
		})
	}
}

var errOfParent = errors.New("the parent's cause")

func wantEnded(ctx context.Context, t *testing.T, err, cause error) {
	t.Helper()
	synctest.Wait()
	select {
	case <-ctx.Done():
	default:
		t.Error("Done is not closed")
	}
	if got := ctx.Err(); got != err { //nolint:errorlint // the same value
		t.Errorf("Err is %v instead of %v", got, err)
	}
	if got := context.Cause(ctx); !errors.Is(got, cause) {
		t.Errorf("the cause is %v instead of %v", got, cause)
	}
}

// Contexts derived from it do not need a goroutine.
func TestLeaseContextHasChildren(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, store *testkit.Store) {
		s := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		synctest.Wait()
		before := runtime.NumGoroutine()
		child, stop := context.WithCancel(s.Context())
		defer stop()
		if n := runtime.NumGoroutine(); n != before {
			t.Errorf("%d goroutines more", n-before)
		}
		mustLose(t, store, s)
		wantEnded(child, t, context.Canceled, distlock.ErrLost)
		_ = s.Release(t.Context())
	})
}
