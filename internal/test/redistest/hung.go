package redistest

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
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
