package proof_test

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Five processes with ten waiters each are killed while the key is held. The waiter
// behind them gets the key after one claim window for each process, however many
// waiters a process had.
//
// Row 3 (redislock): one claim window is lost for each dead process. Fails if a lock
// that is passed on is reserved for longer than the claim window.
func TestWaitersKilled(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		const processes, waiters, slack = 5, 10, 10 * time.Second
		l := s.locker(t)
		o := distlock.Opts{KeyTimeout: longLease}
		held := testkit.MustAcquire(t, l, key, o)
		var dead []*testkit.Process
		for range processes {
			p := testkit.StartChild(t, roleCrowd, order{Store: s.address, Lease: o.KeyTimeout, Waiters: waiters})
			p.Hear("waiting")
			dead = append(dead, p)
		}
		awaitLine(t, l, processes) // they are in the queue before the last waiter
		next := testkit.StartAcquire(t, s.locker(t), key, o)
		awaitLine(t, l, processes+1)
		for _, p := range dead {
			p.Kill()
		}

		owner := func() string { return s.admins[0].Get(context.Background(), key).Val() }
		first := owner()
		mustRelease(t, held)
		released := time.Now()
		claims := make(map[string]bool)
		deadline := time.After(2 * testkit.Patience)
		const claimWindow = 500 * time.Millisecond // the default of Config.ClaimWindow
		for waits := true; waits; {
			select {
			case <-next.Done:
				next.Served(t)
				waits = false
			case <-deadline:
				t.Fatalf("not served; %d windows of the dead", len(claims))
			case <-time.After(claimWindow / 50):
				if o := owner(); o != "" && o != first {
					claims[o] = true
				}
			}
		}
		delete(claims, owner())
		d := next.At.Sub(released)
		t.Logf("served %v after the release, behind %d windows of the dead", d, len(claims))
		if len(claims) > processes {
			t.Errorf("%d claim windows for %d dead processes", len(claims), processes)
		}
		if d > processes*claimWindow+slack {
			t.Errorf("served only %v after the release", d)
		}
		mustRelease(t, next.Got)
		s.mustBeEmpty(t)
	}, "redislock")
}
