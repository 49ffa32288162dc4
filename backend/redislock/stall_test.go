package redislock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/test/redistest"
)

// stalls pings the servers in turn, repeatedly. The returned function ends that, and
// returns the longest time of a round: that part of a delay is caused by the machine.
func stalls(t *testing.T, servers ...*redistest.Server) (longest func() time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var clients []*redis.Client
	for _, s := range servers {
		clients = append(clients, s.Client(t))
	}
	var most time.Duration
	var asking sync.WaitGroup
	asking.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for last := time.Now(); ctx.Err() == nil; last = time.Now() {
			<-tick.C
			for _, c := range clients {
				c.Ping(ctx)
			}
			most = max(most, time.Since(last))
		}
	})
	longest = func() time.Duration {
		cancel()
		asking.Wait()
		return most
	}
	t.Cleanup(func() { longest() })
	return longest
}
