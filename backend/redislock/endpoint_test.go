package redislock_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	mini "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// The address of a server leads to another one, and the old server refuses, for example
// because it has become a replica. Its connections stay open.
//
// Row 19 (redislock): each operation comes to the new server. Fails if a connection to
// a server that refuses is used again, as go-redis does after most errors, or if a
// script hides the error in its reply.
func TestEndpointMoves(t *testing.T) {
	redistest.EachMove(t, 1, func(t *testing.T, clients []*redis.Client, move func()) {
		b := newBackend(t, clients[0], redislock.Config{OpTimeout: 10 * time.Second})
		held, extended, leaving := mustTry(t, b, request("held")), mustTry(t, b, request("extended")), mustTry(t, b, request("leaving"))
		move()
		lost := func(err error) bool { return errors.Is(err, driver.ErrLost) }
		for what, done := range map[string]func() bool{
			"a renewal": func() bool {
				return errors.Is(driver.RenewAll(t.Context(), b, []driver.Grant{held})[0], driver.ErrLost)
			},
			"an extension":     func() bool { _, err := b.Extend(t.Context(), extended, 1); return lost(err) },
			"a release":        func() bool { return lost(b.Release(t.Context(), leaving)) },
			"a place given up": func() bool { r := request("place"); return b.Release(t.Context(), r.Grant()) == nil },
			"an attempt": func() bool {
				_, err := b.TryAcquire(t.Context(), request("free"))
				return err == nil || errors.Is(err, driver.ErrNotAcquired)
			},
			"a ping":        func() bool { return b.Ping(t.Context()) == nil },
			"a revocation":  func() bool { _, err := b.Revoke(t.Context(), "free"); return err == nil },
			"an inspection": func() bool { _, err := b.Inspect(t.Context(), "none", 1); return err == nil },
			"force":         func() bool { _, err := b.ForceRelease(t.Context(), "none"); return err == nil },
		} {
			testkit.Eventually(t, what, done)
		}
	})
}

// The password of the server changes, and its connections end. Once the client is given
// the new one, all operations and the messages work: nothing is authenticated once for
// ever.
func TestPasswordChanges(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--requirepass", "old")
	admin := s.Client(t, func(o *redis.Options) { o.Password = "old" })
	var password atomic.Value
	password.Store("old")
	b := newBackend(t, s.Client(t, func(o *redis.Options) {
		o.CredentialsProvider = func() (string, string) { return "", password.Load().(string) } //nolint:forcetypeassert // strings only
	}), redislock.Config{OpTimeout: 10 * time.Second})
	other := newBackend(t, admin)
	held, leaving := mustTry(t, b, request(lockKey)), mustTry(t, b, request("leaving"))
	next := mustTry(t, other, request("next"))
	r := request("next")
	scripts := server{Client: admin}
	before := scripts.scriptCalls(t)
	w := testkit.StartWaiter(t, b, r)
	listens := func() bool { return scripts.inboxes(t) == 1 }
	testkit.Eventually(t, "it listens", listens)
	// The subscription makes it ask again, after it has asked by itself until then. With the
	// old password that would end the wait.
	last := before
	testkit.Eventually(t, "it has asked again, and rests", func() bool {
		calls := scripts.scriptCalls(t)
		rests := calls >= before+2 && calls == last && b.InFlight() == 0
		last = calls
		return rests
	})

	noError(t, admin.ConfigSet(t.Context(), "requirepass", "new").Err())
	for _, kind := range []string{"normal", "pubsub"} {
		noError(t, admin.ClientKillByFilter(t.Context(), "TYPE", kind, "SKIPME", "yes").Err())
	}
	if err := driver.RenewAll(t.Context(), b, []driver.Grant{held})[0]; !redis.HasErrorPrefix(err, "WRONGPASS") {
		t.Errorf("a renewal with the old password: %v", err)
	}
	password.Store("new")
	renewed(t, driver.RenewAll(t.Context(), b, []driver.Grant{held}), all("extended"))
	mustRelease(t, b, leaving)
	noError(t, b.Ping(t.Context()))
	testkit.Eventually(t, "it listens again", listens)
	mustRelease(t, other, next)
	w.Served(t)
}

// A server that has become a replica does not answer a release: it may be behind, and
// the place in the queue would stay in the master.
func TestReplicaAnswersNoRelease(t *testing.T) {
	t.Parallel()
	s := realServer(t)
	b := newBackend(t, s.real.Client(t))
	noError(t, s.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err())
	for mode, ask := range modes {
		r := ask(lockKey)
		if err := b.Release(t.Context(), r.Grant()); !redis.HasErrorPrefix(err, "READONLY") {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// What the server says about itself is the reply of the whole script, where go-redis
// sees it.
func TestVirtualServerRefusesScripts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		s := scripts{Client: redistest.VirtualClient(t, m), mini: m, t: t}
		s.join("a1", writes)
		for _, code := range []string{"READONLY", "MASTERDOWN", "MISCONF", "NOREPLICAS"} {
			m.Server().SetPreHook(func(c *mini.Peer, name string, _ ...string) bool {
				refused := name == "SET" || name == "GETSET" || name == "DEL" || name == "PEXPIRE"
				if refused {
					c.WriteError(code + " as the server says")
				}
				return refused
			})
			op := redislock.ScriptOp{Key: lockKey, Owner: "a1", TTL: 2 * testTTL, Mode: "try", InDoubt: true}
			for name, reply := range map[string]func() ([]string, error){
				"acquire": func() ([]string, error) { return s.run(acquires, op) },
				"renew":   func() ([]string, error) { return s.run(renews, op) },
				"release": func() ([]string, error) { return s.run(releases, op) },
			} {
				if lines, err := reply(); lines != nil || !redis.HasErrorPrefix(err, code) {
					t.Errorf("%s under %s: %q, %v", name, code, lines, err)
				}
			}
		}
	})
}
