package redistest

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/locktest"
)

// Opener makes a Backend.
type Opener = func(redis.UniversalClient) driver.Backend

// Conform runs the suite of locktest for the Backends that open makes, and over makes
// those over a network with faults; nil is none. start returns a function that makes
// clients of the server of a case. A peer is another Backend with its own client, as in
// another process. Unless f says how to drop a key, those clients may do so.
func Conform(t *testing.T, f locktest.Features, open, over Opener, start func(t *testing.T) func() redis.UniversalClient) {
	t.Helper()
	clients := make(map[driver.Backend]func() redis.UniversalClient)
	add := func(b driver.Backend, client func() redis.UniversalClient) driver.Backend {
		clients[b] = client
		return b
	}
	if f.Drop == nil {
		f.Drop = func(t *testing.T, b driver.Backend, key string) { t.Helper(); Drop(t, clients[b](), key) }
	}
	if f.NoNetwork = over == nil; over != nil {
		f.Over = func(t *testing.T, first driver.Backend, n *locktest.Network) driver.Backend {
			t.Helper()
			return add(over(Through(t, clients[first](), n)), clients[first])
		}
	}
	f.Peer = func(_ *testing.T, first driver.Backend) driver.Backend {
		return add(open(clients[first]()), clients[first])
	}
	locktest.Run(t, func(t *testing.T) driver.Backend {
		t.Helper()
		client := start(t)
		return add(open(client()), client)
	}, f)
}

// Through returns a client like c whose connections pass a network. It is closed at the end of
// the test.
func Through(tb testing.TB, c redis.UniversalClient, n *locktest.Network) (through redis.UniversalClient) {
	tb.Helper()
	defer func() { tb.Cleanup(func() { _ = through.Close() }) }()
	switch c := c.(type) {
	case *redis.Client:
		o := *c.Options()
		o.Dialer, o.PushNotificationProcessor = n.To(o.Dialer), nil // which belongs to one client
		return redis.NewClient(&o)
	case *redis.ClusterClient:
		o := *c.Options()
		o.Dialer = n.DialContext
		return redis.NewClusterClient(&o)
	default:
		panic("redistest: no client of one server or of a cluster")
	}
}

// Drop deletes a key that exists.
func Drop(tb testing.TB, c redis.UniversalClient, key string) {
	tb.Helper()
	if n, err := c.Del(context.Background(), key).Result(); err != nil || n != 1 {
		tb.Fatalf("DEL: %d, %v", n, err)
	}
}
