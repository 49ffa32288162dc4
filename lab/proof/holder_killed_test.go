package proof_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A process that holds the key is killed while another waits. The waiter gets the key
// when the lease has expired, and not before.
//
// Row 2 (redislock, redlock, sqllock): a waiter gets the key when the lease of the dead
// process has expired, and not before. Fails if the server gets another length of the
// lease than the holder assumes, longer or shorter.
// Row 2 (zklock, etcdlock): a waiter gets the key when the session of the dead process is
// over. Fails if the session is requested with another timeout than the configured one.
func TestHolderKilled(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		const lease, slack = 2 * time.Second, 10 * time.Second
		other := s.locker(t)
		dying := s.dying(lease)
		p := testkit.StartChild(t, roleHolder, order{Store: dying, Lease: lease})
		var old uint64
		p.Hear("held", &old)
		next := testkit.StartAcquire(t, other, key, distlock.Opts{})

		asked := time.Now()
		p.Tell("left")
		var left time.Duration
		p.Hear("left", &left)
		p.Kill()
		killed := time.Now()
		held := next.Served(t)
		t.Logf("served %v after the kill", next.At.Sub(killed))
		if next.At.Before(asked.Add(left)) {
			t.Errorf("served %v before the end of the lease of the dead", asked.Add(left).Sub(next.At))
		}
		if d := next.At.Sub(killed); d > dying.gone(lease)+slack {
			t.Errorf("served only %v after the kill", d)
		}
		if held.Token() <= old {
			t.Errorf("token %d after token %d", held.Token(), old)
		}
		mustRelease(t, held)
		s.mustBeEmpty(t)
	}, "redislock", "redlock", "zklock", "etcdlock", "sqllock")
}
