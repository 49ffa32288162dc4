package redislock_test

import (
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	mini "github.com/alicebob/miniredis/v2/server"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

func TestPing(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		noError(t, b.Ping(t.Context()))
		if keys := s.Keys(t.Context(), "*").Val(); !slices.Equal(keys, []string{"distlock:clock"}) {
			t.Errorf("it left %q", keys)
		}
	})
}

// The address is that of a proxy, which sends what plain commands read to other servers
// than the scripts: no lock is granted, and an error says why. Fails if a plain attempt
// is sent before the Backend has asked.
func TestSeveralServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		sent := new(sentCommands)
		b := newBackend(t, redistest.VirtualClient(t, m, sent.over))
		m.Server().SetPreHook(func(c *mini.Peer, cmd string, args ...string) bool {
			elsewhere := cmd == "GET" && strings.HasPrefix(args[0], clockKey+":{") && !strings.Contains(args[0], "{ping}") && redislock.SlotOf(args[0])%3 > 0
			if elsewhere {
				c.WriteNull()
			}
			return elsewhere
		})
		const why = `^redislock: .* a proxy that spreads keys or reads from replicas; locks need the address of the master itself$`
		var all sync.WaitGroup
		for i := range 20 {
			r := request(fmt.Sprint("k", i))
			all.Go(func() {
				_, err := b.Enqueue(t.Context(), r)
				readable(t, "Acquire", err, why)
				_ = b.Release(t.Context(), r.Grant())
			})
		}
		all.Wait()
		readable(t, "Ping", b.Ping(t.Context()), why)
		if got := sent.take(); strings.Contains(got, "incrby") {
			t.Errorf("a plain attempt was sent: %q", got)
		}
		m.Server().SetPreHook(nil)
		mustRelease(t, b, mustTry(t, b, request(lockKey)))
		if keys := m.Keys(); !slices.Equal(keys, []string{clockKey}) {
			t.Errorf("%q are left", keys)
		}
		sent.take()
		mustRelease(t, b, mustTry(t, b, request(lockKey)))
		if got := sent.take(); got != "evalsha evalsha" {
			t.Errorf("it asks again: %q", got)
		}
	})
}

// The error of Ping contains the address and the reason.
func TestPingFails(t *testing.T) {
	t.Run("replica", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		c := s.Client(t)
		// It has no master, but it is a replica.
		noError(t, c.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err())
		readable(t, "a replica", newBackend(t, c).Ping(t.Context()), `^redislock: `+regexp.QuoteMeta(s.Addr())+`: READONLY`)
	})
	t.Run("refusals", func(t *testing.T) {
		t.Parallel()
		s := realServer(t)
		b := newBackend(t, s.real.Client(t, redistest.AsUser))
		for _, rule := range []string{"-evalsha", "-zadd", "-del", "-zrem", "-set"} {
			redistest.SetUser(t, s.Client, append(documentedRules(t), rule))
			readable(t, "with "+rule, b.Ping(t.Context()), "^redislock: .*; the documentation of package redislock has the ACL rules that locks need$")
		}
		redistest.SetUser(t, s.Client, append(documentedRules(t), "-info"))
		for setting, code := range map[string]string{"min-replicas-to-write": "NOREPLICAS", "maxmemory": "OOM"} {
			noError(t, s.ConfigSet(t.Context(), setting, "1").Err())
			readable(t, setting, b.Ping(t.Context()), "^redislock: .*"+code)
			noError(t, s.ConfigSet(t.Context(), setting, "0").Err())
		}
		unconfirmed := newBackend(t, s.real.Client(t, redistest.AsUser), redislock.Config{WaitReplicas: 1, WaitReplicasTimeout: 10 * time.Millisecond})
		redistest.SetUser(t, s.Client, append(documentedRules(t), "+wait"))
		readable(t, "without the replicas", unconfirmed.Ping(t.Context()), "0 of 1|replica")
		noError(t, s.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err())
		readable(t, "a replica that may not be asked", b.Ping(t.Context()), "READONLY .*; the address leads to a replica, and locks need the master$")
	})
	t.Run("not allowed", func(t *testing.T) {
		t.Parallel()
		s := realServer(t)
		redistest.SetUser(t, s.Client, append(documentedRules(t), "-ping", "-info"))
		noError(t, newBackend(t, s.real.Client(t, redistest.AsUser)).Ping(t.Context()))
	})
	t.Run("Cluster", func(t *testing.T) {
		t.Parallel()
		testmode.Long(t)
		servers := redistest.StartCluster(t, 3)
		b := newBackend(t, redistest.ClusterClient(t, servers))
		noError(t, b.Ping(t.Context()))
		servers[1].Kill()
		readable(t, "one of three is dead", b.Ping(t.Context()), `^redislock: .*`+regexp.QuoteMeta(servers[1].Addr())+`: connect: connection refused`)
	})
}

func TestEvictionWarning(t *testing.T) {
	t.Parallel()
	s := realServer(t, "--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru")
	var log child.Output
	b := newBackend(t, s.Client, redislock.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 3 {
		mustRelease(t, b, mustTry(t, b, request("k")))
	}
	testkit.Eventually(t, "it warns", func() bool { return log.String() != "" })
	noError(t, b.Close())
	if got := log.String(); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, "volatile-lru") {
		t.Errorf("logged %q", got)
	}
}
