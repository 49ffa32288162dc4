package proof_test

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// The clock of the process is an hour ahead of the server's, or behind it. A lease
// still ends after its time, first for the holder and then for the server.
//
// Row 10 (redislock): the holder trusts the lease exactly as long as it lasts. Fails if
// leases are sent as points in time (PXAT).
func TestClientClock(t *testing.T) {
	eachClock(t, func(t *testing.T, d time.Duration, set func(time.Duration), open func() driver.Backend) {
		set(-d)
		l := testkit.NewLocker(t, unrenewed{open()}, distlock.Config{})
		other := testkit.NewLocker(t, open(), distlock.Config{})
		const lease = 2 * time.Second
		begun := time.Now()
		held := testkit.MustAcquire(t, l, key, distlock.Opts{KeyTimeout: lease})
		if err := held.Check(); err != nil && time.Since(begun) < lease*9/10 {
			t.Errorf("a lease that has begun: %v", err)
		}
		after := testkit.MustAcquire(t, other, key, distlock.Opts{KeyTimeout: time.Minute})
		took := time.Since(begun)
		t.Logf("served after %v", took)
		if took < lease || took > lease+10*time.Second {
			t.Errorf("another got the key after %v, at a lease of %v", took, lease)
		}
		if held.Check() == nil {
			t.Error("another has the key, and the lease is valid")
		}
		wantKinds(t, "the release of the lost", held.Release(context.Background()), "lost")
		mustRelease(t, after)
	})
}

// The machine is suspended, or its clock is set, while a reply is in flight.
//
// Row 10 (redislock, etcdlock, sqllock): a lease from before the suspension is not valid.
// Fails if only the monotonic clock is read.
func TestSuspended(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		const lease = 2 * time.Second
		// The wall clock jumps by d between each request and its reply, while the monotonic
		// clock stands still.
		jumped := func(d time.Duration) *distlock.Locker {
			l, double := s.observed(t, distlock.Config{})
			double.Fail(testkit.ErrSilent, testkit.Renew)
			double.After(func(_ context.Context, c *testkit.Call) error {
				if c.Op == testkit.Try || c.Op == testkit.Enqueue {
					c.Grants[0].Sent = testkit.Suspend(c.Grants[0].Sent, -d)
				}
				return nil
			})
			return l
		}
		// The process cannot tell a suspension from a clock that was set forward: no
		// lease.
		o := distlock.Opts{KeyTimeout: time.Minute, RetryCount: 1}
		_, err := jumped(time.Hour).Acquire(t.Context(), key, o)
		wantKinds(t, "a lease of before the suspend", err, "unavailable")
		s.mustBeEmpty(t) // it was released

		// The clock is set back: the lease ends on time, and not an hour later.
		begun := time.Now()
		o = distlock.Opts{KeyTimeout: lease}
		held := testkit.MustAcquire(t, jumped(-time.Hour), key, o)
		await(t, "the holder is told", held.Context().Done())
		if d := time.Since(begun); d < lease/2 {
			t.Errorf("told after %v, at a lease of %v", d, lease)
		}
		wantKinds(t, "the cause", context.Cause(held.Context()), "lost")
		wantKinds(t, "the release", held.Release(context.Background()), "lost")
	}, "redislock", "etcdlock", "sqllock")
}
