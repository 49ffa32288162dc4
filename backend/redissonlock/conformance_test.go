package redissonlock_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

func open(c redis.UniversalClient) driver.Backend { return redissonlock.New(c, unhurried) }

func hurried(c redis.UniversalClient) driver.Backend {
	return redissonlock.New(c, redissonlock.Config{})
}

func TestConformanceVirtual(t *testing.T) {
	redistest.Conform(t, locktest.Features{Bubble: true}, open, hurried, func(t *testing.T) func() redis.UniversalClient {
		m := redistest.Virtual(t)
		return func() redis.UniversalClient { return redistest.VirtualClient(t, m) }
	})
}

func TestConformanceRedis(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := redistest.Start(t)
	redistest.Conform(t, locktest.Features{}, open, hurried, func(t *testing.T) func() redis.UniversalClient {
		return func() redis.UniversalClient { return s.Client(t) }
	})
}

func TestConformanceCluster(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	servers := redistest.StartCluster(t, 3)
	redistest.Conform(t, locktest.Features{}, open, hurried, func(t *testing.T) func() redis.UniversalClient {
		return func() redis.UniversalClient { return redistest.ClusterClient(t, servers) }
	})
}
