package proof_test

import (
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A process that holds the key is stopped for more than three leases, between a check
// and the write that the check guards. Another process takes the key and writes.
//
// Row 1 (redislock, redlock, zklock, etcdlock, sqllock): the process that was stopped has no
// valid lease, its old token is refused, and its release is lost. Fails if Check does
// not look at the clock.
func TestHolderStopped(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		const lease = 3 * time.Second
		r := testkit.NewNetRegister(t)
		other := s.locker(t)
		p := testkit.StartChild(t, roleHolder, order{Store: s.dying(lease), Lease: lease, Register: r.Addr()})
		var old uint64
		p.Hear("held", &old)
		var wrote bool
		p.Tell("write")
		if p.Hear("wrote", &wrote); !wrote {
			t.Fatal("the register refused the only holder")
		}

		next := testkit.StartAcquire(t, other, key, distlock.Opts{})
		p.Tell("stop")
		p.Hear("stopping")
		stopped := time.Now()
		held := next.Served(t)
		if held.Token() <= old || !r.Use(testkit.Use{Key: key, Token: held.Token()}) {
			t.Errorf("token %d after token %d", held.Token(), old)
		}
		<-time.After(time.Until(stopped.Add(3*lease + lease/2)))
		p.Cont()

		var before, after bool
		var slept time.Duration
		var cause, released string
		p.Hear("woke", &before, &after, &wrote, &slept, &cause, &released)
		t.Logf("it slept for %v", slept)
		switch {
		case !before || slept < 3*lease:
			t.Errorf("it was valid: %v; it slept for %v: the test shows nothing", before, slept)
		case after:
			t.Error("the lease was still valid for the process that was stopped")
		case wrote:
			t.Error("the register took an old token")
		}
		if s.Kind == "zklock" && strings.HasSuffix(released, "lost+unavailable") {
			released = "lost" // there is no new session yet that could answer
		}
		if cause != "lost" || released != "lost" {
			t.Errorf("its context ended with %s, its release with %s", cause, released)
		}
		// Its release did not affect the lease of the next holder.
		if err := held.Refresh(t.Context()); err != nil {
			t.Errorf("the next holder: %v", err)
		}
		mustRelease(t, held)
		s.mustBeEmpty(t)
	}, "redislock", "redlock", "zklock", "etcdlock", "sqllock")
}
