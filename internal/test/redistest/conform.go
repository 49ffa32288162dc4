package redistest

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/locktest"
)

// Conform runs the suite of locktest for the Backends that open makes. start returns a function
// that makes clients of the server of a case. A peer is another Backend with its own client, as in
// another process. Unless f says how to drop a key, those clients may do so.
func Conform(t *testing.T, f locktest.Features, open func(redis.UniversalClient) driver.Backend, start func(t *testing.T) func() redis.UniversalClient) {
	t.Helper()
	clients := make(map[driver.Backend]func() redis.UniversalClient)
	add := func(client func() redis.UniversalClient) driver.Backend {
		b := open(client())
		clients[b] = client
		return b
	}
	if f.Drop == nil {
		f.Drop = func(t *testing.T, b driver.Backend, key string) { t.Helper(); Drop(t, clients[b](), key) }
	}
	f.Peer = func(_ *testing.T, first driver.Backend) driver.Backend { return add(clients[first]) }
	locktest.Run(t, func(t *testing.T) driver.Backend { t.Helper(); return add(start(t)) }, f)
}

// Drop deletes a key that exists.
func Drop(tb testing.TB, c redis.UniversalClient, key string) {
	tb.Helper()
	if n, err := c.Del(context.Background(), key).Result(); err != nil || n != 1 {
		tb.Fatalf("DEL: %d, %v", n, err)
	}
}
