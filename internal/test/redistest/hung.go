package redistest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// HungClient returns a client that never gets a reply, and that ignores contexts and
// timeouts. It works in a testing/synctest bubble. When the test ends, the connection
// fails, and with it the pending commands.
func HungClient(tb testing.TB) *redis.Client {
	tb.Helper()
	var mu sync.Mutex
	var ends []net.Conn
	c := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:0",
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			mu.Lock()
			defer mu.Unlock()
			ends = append(ends, theirs)
			return ours, nil
		},
		DialTimeout: time.Hour, ReadTimeout: -1, WriteTimeout: -1, MaxRetries: 100,
	})
	tb.Cleanup(func() { _ = c.Close() })
	tb.Cleanup(func() { // before c is closed
		mu.Lock()
		defer mu.Unlock()
		for _, end := range ends {
			_ = end.Close()
		}
	})
	return c
}
