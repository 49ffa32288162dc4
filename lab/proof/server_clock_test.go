package proof_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// The server's clock is set forward or back by an hour while a key is held and another
// process waits for it.
//
// Row 11 (redislock): tokens rise, live holders can release, and all waiters are
// served. Fails if a new token depends on the server's time alone.
func TestServerClock(t *testing.T) {
	for _, d := range []time.Duration{time.Hour, -time.Hour} {
		t.Run("redislock/simulated/"+d.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := startVirtual(t, "redislock")
				l, _ := v.locker(t, distlock.Config{})
				other, _ := v.locker(t, distlock.Config{})
				setClock(t, l, other, d, v.runClocks(t))
			})
		})
		t.Run("redislock/real/"+d.String(), func(t *testing.T) {
			testmode.Long(t)
			s, set := startClocked(t)
			setClock(t, s.locker(t), s.locker(t), d, set)
			s.mustBeEmpty(t)
		})
	}
}

// setClock acquires the key before and after the clock is set to d, and set back.
func setClock(t *testing.T, l, other *distlock.Locker, d time.Duration, set func(time.Duration)) {
	t.Helper()
	// The lease is long enough to end by the clock alone, and its renewal comes soon.
	o := distlock.Opts{KeyTimeout: 6 * time.Second, RetryInterval: 100 * time.Millisecond}
	last := uint64(0)
	rises := func(s *distlock.Lease) {
		t.Helper()
		if s.Token() <= last {
			t.Errorf("token %d after token %d", s.Token(), last)
		}
		last = s.Token()
	}
	for _, step := range []time.Duration{d, 0} {
		held := testkit.MustAcquire(t, l, key, o)
		rises(held)
		next := acquire(t, other, key, o)
		before := time.Now()
		for !waitsIn(t, l) {
			time.Sleep(time.Millisecond)
		}
		onward := step > 0 || d < 0 && step == 0 // the clock is set forward
		set(step)
		if onward {
			// All leases have expired for the server: the waiter has the key, and the
			// holder notices at its next renewal.
			after := next.served(t)
			rises(after)
			await(t, "the holder is told", held.Context().Done())
			wantKinds(t, "the cause", context.Cause(held.Context()), "lost")
			wantKinds(t, "the release of the lost", held.Release(context.Background()), "lost")
			mustRelease(t, after)
		} else {
			// Leases last longer now, and can still be released.
			if err := held.Refresh(context.Background()); err != nil {
				t.Errorf("Refresh: %v", err)
			}
			mustRelease(t, held)
			after := next.served(t)
			rises(after)
			mustRelease(t, after)
		}
		for range 5 {
			s := testkit.MustAcquire(t, l, key, o)
			rises(s)
			mustRelease(t, s)
		}
		t.Logf("clock set by %v: served after %v", step, next.at.Sub(before))
	}
}

// waitsIn reports whether the key has a waiter.
func waitsIn(tb testing.TB, l *distlock.Locker) bool {
	tb.Helper()
	keys, err := admin.Inspect(context.Background(), l, key, 1)
	if err != nil {
		tb.Fatal(err)
	}
	return len(keys) == 1 && keys[0].Waiting == 1
}
