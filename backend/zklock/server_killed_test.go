package zklock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
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
	if s := testkit.Renewed(t, b, g); s.Status != driver.Unknown {
		t.Errorf("renewed without a server: %v", s)
	}
	server.Restart(t)
	testkit.Eventually(t, "it is renewed", func() bool { return testkit.Renewed(t, b, g).Status == driver.Renewed })
	w.MustWait(t)
	testkit.ReleaseRepeatedly(t, b, g)
	if next := w.Served(t); next.Token <= g.Token {
		t.Errorf("token %d after token %d", next.Token, g.Token)
	}
}

// TestEnsemble runs the conformance suite on three servers, and then stops and kills
// the leader.
//
// Row 12 (zklock): without a leader a renewal is Unknown. After one of three servers is
// killed, all waiters get the key, one at a time, with rising tokens. Fails if a renewal
// without an answer counts as Lost.
func TestEnsemble(t *testing.T) {
	testmode.Long(t)
	reconnects(t)
	t.Parallel()
	e := zktest.StartEnsemble(t, zktest.Config{})
	t.Run("conformance", func(t *testing.T) { conform(t, e.Addrs()) })
	t.Run("leader-stopped", func(t *testing.T) { leaderStopped(t, e) })
	t.Run("leader-killed", func(t *testing.T) { leaderKilled(t, e) })
}

// leaderStopped connects to a follower of a leader that does not answer. The follower
// still shows the nodes that it knows, which must not count as a confirmation.
func leaderStopped(t *testing.T, e *zktest.Ensemble) {
	leader := e.Leader(t)
	var follower string
	for _, s := range e.Servers {
		if s != leader {
			follower = s.Addr()
		}
	}
	open := func() *zklock.Backend {
		return newBackend(t, []string{follower}, zklock.Config{OpTimeout: shortTimeout})
	}
	b, again := open(), open() // a request that waits for the leader delays later ones of its session
	admin := newAdmin(t, follower)
	r := testkit.NewRequest("stopped")
	g := testkit.TryRepeatedly(t, b, r)
	other := testkit.NewRequest("stopped-too")
	testkit.TryRepeatedly(t, again, other)
	children(t, admin, parentOf(r.Key)) // begins the session, which is impossible without a leader
	leader.Stop(t)
	defer leader.Cont(t)
	testkit.Eventually(t, "the leader does not answer", func() bool { return testkit.Renewed(t, b, g).Status == driver.Unknown })
	if s := testkit.Renewed(t, b, g); s.Status != driver.Unknown {
		t.Errorf("renewed without a leader: %v", s)
	}
	if _, err := again.TryAcquire(context.Background(), other); err == nil || errors.Is(err, driver.ErrNotAcquired) {
		t.Errorf("TryAcquire by the holder without a leader: %v", err)
	}
	if names, _, err := admin.Children(parentOf(r.Key)); err != nil || len(names) != 1 {
		t.Errorf("the follower does not show the node any more: the test proves nothing: %q, %v", names, err)
	}
	leader.Cont(t)
	testkit.Eventually(t, "it is renewed", func() bool { return testkit.Renewed(t, b, g).Status == driver.Renewed })
	testkit.ReleaseRepeatedly(t, b, g)
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
