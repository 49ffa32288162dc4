package proof_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A process is told to exit while it holds keys, passes one on between its callers, and
// waits for another.
//
// Row 24 (redislock, redlock, zklock, etcdlock, sqllock): new work is refused, and all
// keys are released in bounded time. Fails if holders are not told when the Locker is closed; for
// redislock and redlock, also if keys that are not given back are not released then.
func TestTerminated(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		const slack = 15 * time.Second
		o := distlock.Opts{KeyTimeout: time.Minute} // no lease expires during the test
		other := s.locker(t)
		busy := testkit.MustAcquire(t, other, busyKey, o)
		p := testkit.StartChild(t, roleCloser, order{Store: s.address, Lease: o.KeyTimeout})
		p.Hear("ready")
		p.Signal(syscall.SIGTERM)
		var took time.Duration
		var closed, late, held, kept, passed, waiting string
		p.Hear("closed", &took, &closed, &late, &held, &kept, &passed, &waiting)

		if took > closeTimeout+slack {
			t.Errorf("Close took %v", took)
		}
		t.Logf("Close took %v", took)
		if passed == "closed,closed+lost" {
			passed = "closed" // the others got ErrClosed, and the last one had the key
		}
		for what, c := range map[string]struct{ got, want string }{
			"Close": {closed, "none"}, "new work": {late, "closed"}, "a holder": {held, "closed+lost"},
			"a holder that keeps it": {kept, "closed+lost"}, "hand to hand": {passed, "closed"}, "a waiter": {waiting, "closed"},
		} {
			if c.got != c.want {
				t.Errorf("%s: %s, want %s", what, c.got, c.want)
			}
		}
		// The process still runs and holds nothing.
		for _, k := range []string{heldKey, keptKey, passedKey} {
			l, err := other.TryAcquire(t.Context(), k, o)
			if err != nil {
				t.Errorf("TryAcquire(%q): %v", k, err)
				continue
			}
			mustRelease(t, l)
		}
		mustRelease(t, busy)
		s.mustBeEmpty(t)
		p.CloseInput()
		if code := p.Wait(); code != 0 {
			t.Errorf("the child ended with %d", code)
		}
	}, "redislock", "redlock", "zklock", "etcdlock", "sqllock")
}
