package zklock_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// TestEnsemble runs the conformance suite on three servers, and then kills the leader.
//
// Row 12 (zklock): after one of three servers is killed, all waiters get the key, one
// at a time, with rising tokens. Fails if a renewal without an answer counts as Lost.
func TestEnsemble(t *testing.T) {
	testmode.Long(t)
	reconnects(t)
	t.Parallel()
	e := zktest.StartEnsemble(t, zktest.Config{})
	t.Run("conformance", func(t *testing.T) { conform(t, e.Addrs()) })
	t.Run("leader-killed", func(t *testing.T) { leaderKilled(t, e) })
}

// leaderKilled kills the leader while three sessions contend for a key, and starts it
// again.
func leaderKilled(t *testing.T, e *zktest.Ensemble) {
	var leader *zktest.Server
	new(testkit.Crowd).Disturb(t, func() testkit.Queue {
		return newBackend(t, e.Addrs(), zklock.Config{SessionTimeout: 30 * time.Second, OpTimeout: time.Second})
	}, func() {
		leader = e.Leader(t)
		leader.Kill()
	})
	leader.Restart(t)
	queued(t, newAdmin(t, e.Addrs()...), "crowd", 0)
}
