package redissonlock_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

// conform runs the suite. start returns a function that makes clients of the server of a case.
// A peer is another Backend with its own client, as in another process.
func conform(t *testing.T, f locktest.Features, start func(t *testing.T) func() redis.UniversalClient) {
	clients := make(map[driver.Backend]func() redis.UniversalClient)
	add := func(client func() redis.UniversalClient) driver.Backend {
		b := redissonlock.New(client(), unhurried)
		clients[b] = client
		return b
	}
	f.Drop = func(t *testing.T, b driver.Backend, key string) {
		t.Helper()
		if n, err := clients[b]().Del(context.Background(), key).Result(); err != nil || n != 1 {
			t.Fatalf("DEL: %d, %v", n, err)
		}
	}
	f.Peer = func(_ *testing.T, first driver.Backend) driver.Backend { return add(clients[first]) }
	locktest.Run(t, func(t *testing.T) driver.Backend { return add(start(t)) }, f)
}

func TestConformanceVirtual(t *testing.T) {
	conform(t, locktest.Features{Bubble: true}, func(t *testing.T) func() redis.UniversalClient {
		m := redistest.Virtual(t)
		return func() redis.UniversalClient { return redistest.VirtualClient(t, m) }
	})
}

func TestConformanceRedis(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := redistest.Start(t)
	conform(t, locktest.Features{}, func(t *testing.T) func() redis.UniversalClient {
		return func() redis.UniversalClient { return s.Client(t) }
	})
}

func TestConformanceCluster(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	servers := redistest.StartCluster(t, 3)
	conform(t, locktest.Features{}, func(t *testing.T) func() redis.UniversalClient {
		return func() redis.UniversalClient { return redistest.ClusterClient(t, servers) }
	})
}
