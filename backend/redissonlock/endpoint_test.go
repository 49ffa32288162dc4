package redissonlock_test

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// The address of a server leads to another one, and the old server refuses, for example
// because it has become a replica. Its connections stay open: each operation comes to the
// new server.
func TestEndpointMoves(t *testing.T) {
	redistest.EachMove(t, 1, func(t *testing.T, clients []*redis.Client, move func()) {
		b := newBackend(t, clients[0])
		held, leaving := mustTry(t, b, request("held")), mustTry(t, b, request("leaving"))
		move()
		for what, done := range map[string]func() bool{
			"a renewal":     func() bool { return renew(t, b, held) == driver.Lost },
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

// A server that has become a replica does not answer that an owner has lost the key: the
// replica may be behind.
func TestReplicaAnswersNoRelease(t *testing.T) {
	s := redistest.Start(t)
	b := newBackend(t, s.Client(t))
	r := request(lockKey)
	noError(t, s.Client(t).Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err())
	if err := b.Release(t.Context(), r.Grant()); !redis.HasErrorPrefix(err, "READONLY") {
		t.Errorf("a release on a replica: %v", err)
	}
}
