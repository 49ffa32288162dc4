package test

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

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
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
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
