package redistest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/test/child"
)

// HungClient returns a client that never gets a reply, and that ignores contexts and
// timeouts. It works in a testing/synctest bubble. When the test ends, the connection
// fails, and with it the pending commands.
func HungClient(tb testing.TB) *redis.Client {
	tb.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:0",
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			tb.Cleanup(func() { _ = theirs.Close() }) // before c is closed
			return ours, nil
		},
		DialTimeout: time.Hour, ReadTimeout: -1, WriteTimeout: -1, MaxRetries: 100,
	})
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

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
