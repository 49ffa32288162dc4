package zklock_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// The server keeps sessions and nodes on disk.
//
// Row 12 (zklock): the holder keeps the key, and the waiter gets it next. Fails if a
// renewal without an answer counts as Lost.
func TestServerRestarted(t *testing.T) {
	testmode.Long(t)
	reconnects(t)
	t.Parallel()
	server := zktest.Start(t, zktest.Config{})
	addr := []string{server.Addr()}
	b, other := newBackend(t, addr, zklock.Config{OpTimeout: 2 * time.Second}), newBackend(t, addr)
	g := testkit.TryRepeatedly(t, b, testkit.NewRequest("key"))
	admin := newAdmin(t, server.Addr())
	w := testkit.StartWaiter(t, other, testkit.NewRequest("key"))
	queued(t, admin, "key", 2)
	testkit.Eventually(t, "it watches", func() bool { return metric(t, server, "zk_watch_count") == 1 })
	drain(t, other)
	server.Kill()
	if s := testkit.Renewed(t, b, g); !testkit.InDoubt(s) {
		t.Errorf("renewed without a server: %v", s)
	}
	server.Restart(t)
	testkit.Eventually(t, "it is renewed", func() bool { return testkit.Renewed(t, b, g) == nil })
	w.MustWait(t)
	testkit.ReleaseRepeatedly(t, b, g)
	if next := w.Served(t); next.Token <= g.Token {
		t.Errorf("token %d after token %d", next.Token, g.Token)
	}
}

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
	testkit.Contend(t, "killed", func() testkit.Queue {
		return newBackend(t, e.Addrs(), zklock.Config{SessionTimeout: 30 * time.Second, OpTimeout: time.Second})
	}, func() {
		leader = e.Leader(t)
		leader.Kill()
	})
	leader.Restart(t)
	queued(t, newAdmin(t, e.Addrs()...), "killed", 0)
}
