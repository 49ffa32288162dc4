package proof_test

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// The server's clock is set forward or back by an hour while a key is held and another
// process waits for it.
//
// Row 11 (redislock): tokens rise, live holders can release, and all waiters are
// served. Fails if a new token depends on the server's time alone.
func TestServerClock(t *testing.T) {
	// The key is acquired before and after the clock is set to d, and set back.
	eachClock(t, func(t *testing.T, d time.Duration, set func(time.Duration), open func() driver.Backend) {
		l, other := testkit.NewLocker(t, open(), distlock.Config{}), testkit.NewLocker(t, open(), distlock.Config{})
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
			next := testkit.StartAcquire(t, other, key, o)
			before := time.Now()
			awaitLine(t, l, 1)
			onward := step > 0 || d < 0 && step == 0 // the clock is set forward
			set(step)
			if onward {
				// All leases have expired for the server: the waiter has the key, and the
				// holder notices at its next renewal.
				after := next.Served(t)
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
				after := next.Served(t)
				rises(after)
				mustRelease(t, after)
			}
			for range 5 {
				s := testkit.MustAcquire(t, l, key, o)
				rises(s)
				mustRelease(t, s)
			}
			t.Logf("clock set by %v: served after %v", step, next.At.Sub(before))
		}
	})
}
