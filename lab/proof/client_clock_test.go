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
