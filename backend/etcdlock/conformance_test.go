package etcdlock_test

import (
	"cmp"
	"context"
	"net"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

// TestConformance runs the conformance suite. Its leases of a minute need a session of
// more than two.
func TestConformance(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	c := newClient(t, etcdtest.Shared(t).Addr())
	with := func(t *testing.T, c *clientv3.Client, limit time.Duration) driver.Backend {
		t.Helper()
		b, err := etcdlock.New(c, etcdlock.Config{SessionTTL: 5 * time.Minute, OpTimeout: limit})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	locktest.Run(t, func(t *testing.T) driver.Backend { return with(t, c, 20*time.Second) }, locktest.Features{
		Lease: 400 * time.Millisecond,
		Drop:  func(t *testing.T, _ driver.Backend, key string) { drop(t, c, key) },
		Peer:  func(t *testing.T, _ driver.Backend) driver.Backend { return with(t, c, 20*time.Second) },
		Over: func(t *testing.T, _ driver.Backend, n *locktest.Network) driver.Backend {
			return with(t, through(t, etcdtest.Shared(t).Addr(), n.DialContext), 2*time.Second)
		},
	})
}

// through returns a client whose connections are opened by dial.
func through(tb testing.TB, addr string, dial locktest.DialFunc) *clientv3.Client {
	tb.Helper()
	dialer := func(ctx context.Context, addr string) (net.Conn, error) { return dial(ctx, "tcp", addr) }
	return open(tb, clientv3.Config{Endpoints: []string{addr}, DialOptions: []grpc.DialOption{grpc.WithContextDialer(dialer)}})
}

// TestConformanceVirtual runs the suite on a server in memory, in virtual time.
//
// Row 7 (etcdlock): a holder that reaches no server, or hears from none, is told before another
// owner has the key. Fails if a lease is trusted for a second longer than it lasts.
// Row 8 (etcdlock): the owner has the key when it tries again, and an owner that gives
// up leaves nothing. Fails if only a place that is known to exist is deleted.
// Row 9 (etcdlock): a request that arrives late does not take the key. Fails if the
// fence is not written.
// Row 14 (etcdlock): 200 waiters leave at once, and callers come whose context has ended: nothing
// is left. Fails if the place of a waiter stays that was released.
// Row 24 (etcdlock): what was given back before Close is free for another process,
// and MinHold goes on. Fails if MinHold ends with the process.
func TestConformanceVirtual(t *testing.T) {
	failFast(t, 2*time.Minute)
	servers := make(map[driver.Backend]*fake)
	with := func(t *testing.T, f *fake, n *locktest.Network) driver.Backend {
		t.Helper()
		c := through(t, "127.0.0.1:1", n.To(func(context.Context, string, string) (net.Conn, error) { return f.listener.Dial() }))
		c.Watcher = watcher{c.Watcher, f}
		b, err := etcdlock.New(c, etcdlock.Config{SessionTTL: 5 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		servers[b] = f
		return b
	}
	locktest.Run(t, func(t *testing.T) driver.Backend { return with(t, startFake(t), new(locktest.Network)) }, locktest.Features{
		Bubble: true,
		Lease:  2 * time.Second, // a lease of etcd has whole seconds
		Drop: func(_ *testing.T, b driver.Backend, key string) {
			f := servers[b]
			f.delete(slices.MinFunc(f.places(key), func(x, y string) int { return cmp.Compare(f.created(x), f.created(y)) }))
		},
		Over: func(t *testing.T, first driver.Backend, n *locktest.Network) driver.Backend {
			return with(t, servers[first], n)
		},
	})
}

// drop deletes the first place in the queue of the key.
func drop(tb testing.TB, c *clientv3.Client, key string) {
	tb.Helper()
	ctx := context.Background()
	resp, err := c.Get(ctx, etcdlock.DefaultPrefix+etcdlock.EscapeKey(key)+"/", clientv3.WithFirstCreate()...)
	if err != nil {
		tb.Fatal(err)
	}
	if len(resp.Kvs) == 0 {
		tb.Fatal("nobody has the key")
	}
	if _, err := c.Delete(ctx, string(resp.Kvs[0].Key)); err != nil {
		tb.Fatal(err)
	}
}
