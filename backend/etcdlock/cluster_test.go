package etcdlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// TestCluster breaks a cluster of three servers in four ways, one after the other.
//
// Row 26 (etcdlock): when one of three servers is killed, and when another becomes the
// leader, no lock is lost, and the waiters get the key one at a time, with rising
// tokens. Fails if a renewal without an answer counts as Lost.
// Row 26 (etcdlock): while the leader is stopped, a call that only reaches the leader
// ends with an error, and the leases of a process that reaches all servers are renewed.
// Fails if operations have no timeout.
// Row 26 (etcdlock): without a majority the holder is told, and nobody gets the key
// until there is a majority again. Fails if a renewal without an answer counts as
// renewed.
func TestCluster(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	c := etcdtest.StartCluster(t)
	t.Run("leader-killed", func(t *testing.T) {
		disturbed(t, c, func() {
			leader := c.Leader(t)
			leader.Kill()
			t.Cleanup(func() { leader.Restart(t) })
		})
	})
	t.Run("leader-moved", func(t *testing.T) { disturbed(t, c, func() { c.MoveLeader(t) }) })
	t.Run("leader-stopped", func(t *testing.T) { leaderStopped(t, c) })
	t.Run("majority-lost", func(t *testing.T) { majorityLost(t, c) })
}

// disturbed breaks the cluster while three processes contend for a key, and another
// holds a lock. The holder loses nothing.
func disturbed(t *testing.T, c *etcdtest.Cluster, disturb func()) {
	open := func() *etcdlock.Backend {
		return newBackend(t, newClient(t, c.Addrs()...), etcdlock.Config{OpTimeout: time.Second})
	}
	steady := open()
	g := testkit.TryRepeatedly(t, steady, testkit.NewRequest("steady"))
	done, renewing := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(renewing)
		for {
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
			if s := testkit.Renewed(t, steady, g); errors.Is(s, driver.ErrLost) {
				t.Error("the lock of a holder is lost")
				return
			}
		}
	}()
	new(testkit.Crowd).Disturb(t, func() testkit.Queue { return open() }, disturb)
	close(done)
	<-renewing
	testkit.Eventually(t, "the lock is renewed", func() bool { return testkit.Renewed(t, steady, g) == nil })
	testkit.ReleaseRepeatedly(t, steady, g)
	admin := newClient(t, c.Addrs()...)
	testkit.Eventually(t, "no place is left", func() bool { return len(places(t, admin, "crowd")) == 0 })
}

// leaderStopped stops the leader: its connections stay open, and it does not answer.
// The others elect another.
func leaderStopped(t *testing.T, c *etcdtest.Cluster) {
	leader := c.Leader(t)
	bound := newBackend(t, newClient(t, leader.Addr()), etcdlock.Config{OpTimeout: shortTimeout})
	free := newBackend(t, newClient(t, c.Addrs()...), etcdlock.Config{OpTimeout: shortTimeout, SessionTTL: time.Minute})
	lease := testkit.MustAcquire(t, testkit.NewLocker(t, free, distlock.Config{}), "stopped", distlock.Opts{KeyTimeout: 15 * time.Second})
	g := testkit.TryRepeatedly(t, bound, testkit.NewRequest("stopped-too"))

	leader.Stop(t)
	stopped := time.Now()
	if s := testkit.Renewed(t, bound, g); !await.InDoubt(s) {
		t.Errorf("renewed by a server that does not answer: %v", s)
	}
	_, err := bound.TryAcquire(t.Context(), testkit.NewRequest("stopped-3"))
	checkError(t, "TryAcquire at a server that does not answer", err)
	checkError(t, "Release at a server that does not answer", bound.Release(t.Context(), g))
	if d := time.Since(stopped); d > patience {
		t.Errorf("three calls without an answer took %v", d)
	}
	mustWork(t, free, "stopped-4") // the key is free at the other servers
	testkit.Eventually(t, "the lease is renewed without the leader", func() bool {
		return lease.Until().After(stopped.Add(15 * time.Second))
	})
	leader.Cont(t)
	if err := lease.Check(); err != nil {
		t.Errorf("the lease: %v", err)
	}
	testkit.ReleaseRepeatedly(t, bound, g)
	_ = lease.Release(t.Context()) // continues in the background after an error
	admin := newClient(t, c.Addrs()...)
	testkit.Eventually(t, "it is released", func() bool { return len(places(t, admin, "stopped")) == 0 })
}

// majorityLost kills two of three servers.
func majorityLost(t *testing.T, c *etcdtest.Cluster) {
	const session = 8 * time.Second
	holder := newBackend(t, newClient(t, c.Addrs()...), etcdlock.Config{OpTimeout: shortTimeout, SessionTTL: session})
	other := newBackend(t, newClient(t, c.Addrs()...), etcdlock.Config{OpTimeout: shortTimeout})
	locker := testkit.NewLocker(t, holder, distlock.Config{})
	lease := testkit.MustAcquire(t, locker, "minority", distlock.Opts{KeyTimeout: time.Minute})
	next := testkit.StartAcquire(t, testkit.NewLocker(t, other, distlock.Config{}), "minority", distlock.Opts{KeyTimeout: time.Minute})
	admin := newClient(t, c.Addrs()...)
	testkit.Eventually(t, "it is in the queue", func() bool { return len(places(t, admin, "minority")) == 2 })

	for _, s := range c.Servers[1:] {
		s.Kill()
	}
	killed := time.Now()
	<-lease.Context().Done()
	if err := context.Cause(lease.Context()); !errors.Is(err, driver.ErrLost) || lease.Until().After(killed.Add(session/2)) {
		t.Errorf("without a majority the lease ended at %v, because of %v", lease.Until(), err)
	}
	if _, err := locker.TryAcquire(t.Context(), "minority-too", distlock.Opts{}); !errors.Is(err, distlock.ErrUnavailable) {
		t.Errorf("TryAcquire without a majority: %v", err)
	}
	next.MustWait(t)
	for _, s := range c.Servers[1:] {
		s.Restart(t)
	}
	l := next.Served(t)
	if l.Token() <= lease.Token() {
		t.Errorf("token %d after token %d", l.Token(), lease.Token())
	}
	if err := l.Release(t.Context()); err != nil {
		t.Errorf("Release: %v", err)
	}
}
