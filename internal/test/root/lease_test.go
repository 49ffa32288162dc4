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

func TestHeld(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := func(ctx context.Context, key string, want *distlock.Lease) {
			t.Helper()
			if got, ok := distlock.Held(ctx, key); got != want || ok != (want != nil) {
				t.Errorf("%q: %v, %v; want %v", key, got, ok, want)
			}
		}
		held(t.Context(), "p:a", nil)
		outer := testkit.MustAcquire(t, l, "a", distlock.Opts{Prefix: "p:"})
		inner, err := l.Acquire(outer.Context(), "b", distlock.Opts{})
		wantIs(t, err)
		again, err := l.Acquire(inner.Context(), "p:a", distlock.Opts{})
		wantIs(t, err)
		below := context.WithValue(again.Context(), ctxKey{}, "x")
		held(outer.Context(), "p:a", outer)
		held(outer.Context(), "a", nil)
		held(outer.Context(), "b", nil)
		held(inner.Context(), "p:a", outer)
		held(below, "p:a", again) // the innermost of the key
		held(below, "b", inner)
		held(context.WithoutCancel(below), "b", inner)
		held(distlock.Detach(below), "b", nil)

		wantIs(t, again.Release(t.Context()))
		held(below, "p:a", nil) // it has outlived the re-entry
		held(below, "b", inner)
		wantIs(t, inner.Release(t.Context()))
		held(below, "b", nil)
		held(inner.Context(), "p:a", outer)
		mustLose(t, s, outer)
		held(outer.Context(), "p:a", nil)
		wantIs(t, outer.Release(t.Context()), distlock.ErrLost)
	})
}

// The clock decides, even if nobody has noticed the end of the lease yet.
func TestHeldByTheClock(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
		lease := testkit.MustAcquire(t, l, "k", distlock.Opts{MaxHold: time.Second})
		ctx := context.WithoutCancel(lease.Context())
		time.Sleep(999 * time.Millisecond)
		if _, ok := distlock.Held(ctx, "k"); !ok {
			t.Error("not held before its end")
		}
		time.Sleep(time.Millisecond)
		if _, ok := distlock.Held(ctx, "k"); ok {
			t.Error("held after its end")
		}
		wantIs(t, lease.Release(t.Context()), distlock.ErrLost)
	})
}

// Row 9 (any): renewals that are refused for less than a lease cost nothing. Fails if the
// store is not asked again after an error.
func TestRenewalsRefusedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := testkit.NewStore()
		locker := testkit.NewLocker(t, store, distlock.Config{})
		lease := testkit.MustAcquire(t, locker, "key", distlock.Opts{KeyTimeout: 9 * time.Second})

		store.Fail(testkit.ErrBroken, testkit.Renew)
		time.Sleep(8 * time.Second) // two attempts or more
		store.Fail(nil)
		time.Sleep(time.Minute)
		if err := lease.Check(); err != nil {
			t.Errorf("the lease is over: %v", err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A lease that is short at first is renewed before its end. Until says so without I/O, and
// Refresh extends it at once.
func TestLeaseThatIsShortAtFirst(t *testing.T) {
	const atFirst = 300 * time.Millisecond
	for name, c := range map[string]struct {
		opts    distlock.Opts
		pause   time.Duration
		refresh bool
		left    time.Duration // at least, after the pause
	}{
		"at once":   {distlock.Opts{KeyTimeout: time.Minute}, 0, false, 0},
		"refreshed": {distlock.Opts{KeyTimeout: time.Minute}, 0, true, 59 * time.Second},
		"later":     {distlock.Opts{KeyTimeout: time.Minute}, 10 * time.Second, false, 40 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := testkit.NewStore()
			store.ShortAtFirst(atFirst)
			l := testkit.NewLocker(t, store, distlock.Config{})
			s := testkit.MustAcquire(t, l, "k", c.opts)
			time.Sleep(c.pause)
			if c.refresh {
				wantIs(t, s.Refresh(t.Context()))
			}
			asked := len(store.Calls(testkit.Renew))
			if left := time.Until(s.Until()); left < c.left || c.left == 0 && left > atFirst {
				t.Errorf("%s: %v left, want at least %v", name, left, c.left)
			}
			if n := len(store.Calls(testkit.Renew)) - asked; n > 0 {
				t.Errorf("%s: Until sent %d requests", name, n)
			}
			wantIs(t, s.Release(t.Context()))
		})
	}
}
