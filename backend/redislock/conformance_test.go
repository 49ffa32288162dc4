package redislock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

// conform runs the suite with one server for each case. A peer is another Backend with
// its own client, as in another process.
func conform(t *testing.T, f locktest.Features, start func(t *testing.T) func() redis.UniversalClient, opts ...redislock.Option) {
	type store struct {
		admin  redis.UniversalClient
		client func() redis.UniversalClient
	}
	stores := make(map[driver.Backend]store)
	add := func(s store) driver.Backend {
		b := redislock.New(s.client(), opts...)
		stores[b] = s
		return b
	}
	f.Drop = func(t *testing.T, b driver.Backend, key string) {
		t.Helper()
		if n, err := stores[b].admin.Del(context.Background(), key).Result(); err != nil || n != 1 {
			t.Fatalf("DEL: %d, %v", n, err)
		}
	}
	f.Peer = func(_ *testing.T, first driver.Backend) driver.Backend { return add(stores[first]) }
	locktest.Run(t, func(t *testing.T) driver.Backend {
		client := start(t)
		return add(store{client(), client})
	}, f)
}

// resend is less than the time of a release that is sent twice: that happens if a
// responsive server has not replied within fifty milliseconds, less a quarter.
const resend = 30 * time.Millisecond

func TestConformanceVirtual(t *testing.T) {
	conform(t, locktest.Features{Bubble: true}, func(t *testing.T) func() redis.UniversalClient {
		m := redistest.Virtual(t)
		return func() redis.UniversalClient { return redistest.VirtualClient(t, m) }
	})
}

func TestConformanceRedis(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := realServer(t)
	conform(t, locktest.Features{Resend: resend}, func(t *testing.T) func() redis.UniversalClient {
		return func() redis.UniversalClient { return s.real.Client(t) }
	}, unhurried)
}

func TestConformanceCluster(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	servers := redistest.StartCluster(t, 3)
	conform(t, locktest.Features{Resend: resend}, func(t *testing.T) func() redis.UniversalClient {
		return func() redis.UniversalClient { return redistest.ClusterClient(t, servers) }
	}, unhurried)
}
