package redissonlock_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// An application that uses up the pool of its client loses no lease.
func TestUsedUpPool(t *testing.T) {
	s := redistest.Start(t)
	c := s.Client(t, func(o *redis.Options) { o.PoolSize = 2 })
	b := newBackend(t, c)
	g := testkit.MustTry(t, b, request(lockKey))
	redistest.UseUp(t, c)
	testkit.MustRenew(t, b, g)
	testkit.MustRelease(t, b, g)
}

// The address of a server leads to another one, and the old server refuses, for example
// because it has become a replica. Its connections stay open: each operation comes to
// the new server.
func TestEndpointMoves(t *testing.T) {
	redistest.EachMove(t, 1, func(t *testing.T, clients []*redis.Client, move func()) {
		b := newBackend(t, clients[0])
		held, leaving := testkit.MustTry(t, b, request("held")), testkit.MustTry(t, b, request("leaving"))
		move()
		for what, done := range map[string]func() bool{
			"a renewal":     func() bool { return errors.Is(testkit.Renewed(t, b, held), driver.ErrLost) },
			"a release":     func() bool { return errors.Is(b.Release(t.Context(), leaving), driver.ErrLost) },
			"an attempt":    func() bool { _, err := b.TryAcquire(t.Context(), request("free")); return err == nil || isHeld(err) },
			"a ping":        func() bool { return b.Ping(t.Context()) == nil },
			"an inspection": func() bool { _, err := b.Inspect(t.Context(), "none", 1); return err == nil },
			"force":         func() bool { _, err := b.ForceRelease(t.Context(), "none"); return err == nil },
		} {
			testkit.Eventually(t, what+" comes to the new server", done)
		}
	})
}

// A server that has become a replica does not answer that an owner has lost the key:
// the replica may be behind.
func TestReplicaAnswersNoRelease(t *testing.T) {
	s := redistest.Start(t)
	b := newBackend(t, s.Client(t))
	r := request(lockKey)
	noError(t, s.Client(t).Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err())
	if err := b.Release(t.Context(), r.Grant()); !redis.HasErrorPrefix(err, "READONLY") {
		t.Errorf("a release on a replica: %v", err)
	}
}

// Ping fails where a release would, and says what helps.
func TestPingWrites(t *testing.T) {
	s := redistest.Start(t)
	admin := s.Client(t)
	redistest.SetUser(t, admin, redistest.DocumentedRules(t, 20))
	b := newBackend(t, s.Client(t, redistest.AsUser))
	noError(t, b.Ping(t.Context()))
	if keys := admin.Keys(t.Context(), "*").Val(); len(keys) != 0 {
		t.Errorf("it left %q", keys)
	}
	fails := func(what, code, advice string) {
		t.Helper()
		err := b.Ping(t.Context())
		if !redis.HasErrorPrefix(err, code) || !strings.Contains(err.Error(), advice) {
			t.Errorf("%s: %v", what, err)
		}
	}
	redistest.SetUser(t, admin, append(redistest.DocumentedRules(t, 20), "-evalsha"))
	fails("without evalsha", "NOPERM", "ACL rules")
	redistest.SetUser(t, admin, redistest.DocumentedRules(t, 20))
	noError(t, admin.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	fails("without its replicas", "NOREPLICAS", "")
	noError(t, admin.ConfigSet(t.Context(), "min-replicas-to-write", "0").Err())
	noError(t, admin.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err())
	fails("a replica that hides it", "READONLY", "need the master")
}

// In a Cluster a master that does not answer delays no renewals on others, and a waiter
// is woken also after the slot of its key has moved.
func TestCluster(t *testing.T) {
	testmode.Long(t)
	cluster := redistest.StartClusterWithReplicas(t, 3, 0)
	c := redistest.ClusterClient(t, cluster.Masters)
	b := newBackend(t, c, redissonlock.Config{OpTimeout: 2 * time.Second})

	t.Run("wake", func(t *testing.T) {
		g := testkit.MustTry(t, b, request(lockKey))
		up := newBackend(t, redistest.ClusterClient(t, cluster.Masters)).Turn(t.Context(), driver.Request{Key: lockKey})
		<-up
		slot := cluster.Slot(t, lockKey)
		from := slices.IndexFunc(cluster.Masters, func(s *redistest.Server) bool {
			return s.Client(t).Exists(t.Context(), lockKey).Val() == 1
		})
		cluster.MoveSlot(t, slot, cluster.Masters[from], cluster.Masters[(from+1)%3], func() {})
		select {
		case <-up: // it looks when it listens again
		case <-time.After(time.Minute):
			t.Fatal("it does not listen at the new master")
		}
		testkit.Eventually(t, "the slot is served again", func() bool { return b.Release(t.Context(), g) == nil })
		select {
		case <-up:
		case <-time.After(time.Minute):
			t.Fatal("it was not woken")
		}
	})

	t.Run("silent master", func(t *testing.T) {
		grants := make([]driver.Grant, 12)
		silent := make([]bool, len(grants))
		for i := range grants {
			grants[i] = testkit.MustTry(t, b, request(fmt.Sprint("shop:", i)))
			silent[i] = cluster.Masters[2].Client(t).Exists(t.Context(), grants[i].Key).Val() == 1
		}
		cluster.Masters[2].Stop()
		defer cluster.Masters[2].Cont()
		start := time.Now()
		reports := make(map[int]time.Duration)
		var mu sync.Mutex
		b.Renew(t.Context(), grants, func(i int, r error) {
			mu.Lock()
			defer mu.Unlock()
			reports[i] = time.Since(start)
			if !silent[i] && r != nil {
				t.Errorf("grant %d: %+v", i, r)
			}
			if silent[i] && !await.InDoubt(r) {
				t.Errorf("grant %d on the silent master: %+v", i, r)
			}
		})
		for i, d := range reports {
			if !silent[i] && d > time.Second {
				t.Errorf("grant %d was reported after %v", i, d)
			}
		}
		if len(reports) != len(grants) || !slices.Contains(silent, true) || !slices.Contains(silent, false) {
			t.Errorf("%d reports, silent: %v", len(reports), silent)
		}
	})
}
