package etcdlock_test

import (
	"cmp"
	"context"
	"net"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// newClient returns a client that is closed when the test ends.
func newClient(tb testing.TB, addrs ...string) *clientv3.Client {
	tb.Helper()
	return open(tb, clientv3.Config{Endpoints: addrs})
}

// open is newClient for other configurations.
func open(tb testing.TB, cfg clientv3.Config) *clientv3.Client {
	tb.Helper()
	cfg.Logger = zap.NewNop()
	c, err := clientv3.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("closing the client: %v", err)
		}
	})
	return c
}

// newBackend returns a Backend that is closed when the test ends. Unless the Config
// says otherwise, its timeouts are so long that a slow machine costs it neither a lease
// nor an answer.
func newBackend(tb testing.TB, c *clientv3.Client, config ...etcdlock.Config) *etcdlock.Backend {
	tb.Helper()
	slow := append(config, etcdlock.Config{})[0]
	slow.SessionTTL, slow.OpTimeout = cmp.Or(slow.SessionTTL, 5*time.Minute), cmp.Or(slow.OpTimeout, 20*time.Second)
	made, err := etcdlock.New(c, slow)
	if err != nil {
		tb.Fatal(err)
	}
	b := made.(*etcdlock.Backend)
	tb.Cleanup(func() {
		if err := b.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return b
}

// patience is how long a test waits for something that must happen soon.
const patience = 15 * time.Second

// overNetwork returns a Backend and the network of its connections.
func overNetwork(tb testing.TB, addr string, config ...etcdlock.Config) (*etcdlock.Backend, *spoilnet.Network) {
	tb.Helper()
	n := new(spoilnet.Network)
	dial := func(ctx context.Context, addr string) (net.Conn, error) { return n.DialContext(ctx, "tcp", addr) }
	c := open(tb, clientv3.Config{Endpoints: []string{addr}, DialOptions: []grpc.DialOption{grpc.WithContextDialer(dial)}})
	return newBackend(tb, c, config...), n
}

// shortTimeout is the timeout of a Backend in tests of calls without an answer. On a
// slow machine other calls may get none in time either.
const shortTimeout = time.Second

// mustWork takes and releases a key with a Backend with a short timeout.
func mustWork(tb testing.TB, b *etcdlock.Backend, key string) {
	tb.Helper()
	testkit.ReleaseRepeatedly(tb, b, testkit.TryRepeatedly(tb, b, testkit.NewRequest(key)))
}
