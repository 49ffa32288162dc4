package redistest

import (
	"context"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/test/child"
)

// UseUp occupies all connections of the client with commands that block, as an
// application may do, until the test ends. It closes the client then.
func UseUp(tb testing.TB, c *redis.Client) {
	tb.Helper()
	n := c.Options().PoolSize
	var ended sync.WaitGroup
	for range n {
		ended.Go(func() { _ = c.Do(context.Background(), "wait", 1, 0).Err() })
	}
	tb.Cleanup(func() {
		_ = c.Close()
		ended.Wait()
	})
	child.Await(tb, "no connection is idle", func() bool {
		s := c.PoolStats()
		return int(s.TotalConns) == n && s.IdleConns == 0
	})
}
