package redlock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// The addresses of all nodes lead to other servers, and the old ones refuse, for example
// because they have become replicas. Their connections stay open: each operation comes to the
// new servers.
func TestEndpointMoves(t *testing.T) {
	redistest.EachMove(t, 3, func(t *testing.T, clients []*redis.Client, move func()) {
		nodes := make([]redis.UniversalClient, len(clients))
		for i, c := range clients {
			nodes[i] = c
		}
		b := newBackend(t, nodes, redlock.WithNodeTimeout(3*time.Second), redlock.WithMaxLease(time.Second))
		ask := func(key string) driver.Request {
			r := request()
			r.Key, r.TTL = key, time.Second
			return r
		}
		held, leaving := acquire(t, b, ask("held")), acquire(t, b, ask("leaving"))
		move()
		for what, done := range map[string]func() bool{
			"a renewal": func() bool { return status(t, b, held) == driver.Lost },
			"a release": func() bool {
				err := b.Release(t.Context(), leaving)
				return err == nil || errors.Is(err, driver.ErrLost)
			},
			"an attempt": func() bool { _, err := b.TryAcquire(t.Context(), ask("free")); return err == nil },
			"a ping":     func() bool { return b.Ping(t.Context()) == nil },
		} {
			testkit.Eventually(t, what+" comes to the new servers", done)
		}
	})
}
