package redislock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

// open returns a function that makes Backends with the Config.
func open(cfg redislock.Config) func(redis.UniversalClient) driver.Backend {
	return func(c redis.UniversalClient) driver.Backend { return redislock.New(c, cfg) }
}

// resend is less than the time of a release that is sent twice: that happens if a
// responsive server has not replied within fifty milliseconds, less a quarter.
const resend = 30 * time.Millisecond

// The suite, over a network that loses and delays requests and replies.
//
// Row 8 (redislock): the same owner gets the same grant again, a renewal and a release
// that are repeated find no loss, and a late copy takes nothing from the next holder.
// Fails if a repeated request of an owner is refused, or if the server forgets who has
// released.
// Row 4 (redislock): the holder learns of it at its next renewal, and the waiter is
// served. Fails if a renewal creates a lock that is gone.
// Row 15 (redislock): a waiter asks at once when its subscription works again. Fails if
// a new subscription does not wake waiters.
func TestConformanceVirtual(t *testing.T) {
	redistest.Conform(t, locktest.Features{Bubble: true}, open(redislock.Config{}), open(redislock.Config{}), func(t *testing.T) func() redis.UniversalClient {
		m := redistest.Virtual(t)
		return func() redis.UniversalClient { return redistest.VirtualClient(t, m) }
	})
}

func TestConformanceRedis(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := realServer(t)
	redistest.Conform(t, locktest.Features{Resend: resend}, open(unhurried), open(redislock.Config{}), func(t *testing.T) func() redis.UniversalClient {
		return func() redis.UniversalClient { return s.real.Client(t) }
	})
}

func TestConformanceCluster(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	servers := redistest.StartCluster(t, 3)
	redistest.Conform(t, locktest.Features{Resend: resend}, open(unhurried), open(redislock.Config{}), func(t *testing.T) func() redis.UniversalClient {
		return func() redis.UniversalClient { return redistest.ClusterClient(t, servers) }
	})
}
