package etcdlock_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/spoilnet"
)

// overNetwork returns a Backend and the network of its connections.
func overNetwork(tb testing.TB, addr string, opts ...etcdlock.Option) (*etcdlock.Backend, *spoilnet.Network) {
	tb.Helper()
	n := new(spoilnet.Network)
	dial := func(ctx context.Context, addr string) (net.Conn, error) { return n.DialContext(ctx, "tcp", addr) }
	c, err := clientv3.New(clientv3.Config{
		Endpoints: []string{addr}, Logger: zap.NewNop(), DialOptions: []grpc.DialOption{grpc.WithContextDialer(dial)},
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return newBackend(tb, c, opts...), n
}

// placeOf returns the name of the owner's place, or "" if it has none.
func placeOf(tb testing.TB, c *clientv3.Client, r driver.Request) string {
	tb.Helper()
	resp, err := c.Get(context.Background(), dirOf(r.Key), clientv3.WithPrefix())
	if err != nil {
		tb.Fatal(err)
	}
	for _, kv := range resp.Kvs {
		if strings.HasSuffix(string(kv.Value), r.Owner) {
			return string(kv.Key)
		}
	}
	return ""
}

// shortTimeout is the timeout of a Backend in tests of calls without an answer. On a
// slow machine other calls may get none in time either.
const shortTimeout = time.Second

// tryRepeatedly is mustAcquire for a Backend with a short timeout. It repeats calls that
// get no answer.
func tryRepeatedly(tb testing.TB, b *etcdlock.Backend, r driver.Request) (g driver.Grant) {
	tb.Helper()
	eventually(tb, patience, "it has the free key", func() (ok bool) {
		var err error
		if g, err = b.TryAcquire(context.Background(), r); errors.Is(err, driver.ErrNotAcquired) {
			tb.Fatalf("TryAcquire of a free key: %v", err)
		}
		return err == nil
	})
	return g
}

// releaseRepeatedly is mustRelease for a Backend with a short timeout.
func releaseRepeatedly(tb testing.TB, b *etcdlock.Backend, g driver.Grant) {
	tb.Helper()
	eventually(tb, patience, "the release is answered", func() bool {
		err := b.Release(context.Background(), g)
		if errors.Is(err, driver.ErrLost) {
			tb.Fatalf("Release by the holder: %v", err)
		}
		return err == nil
	})
}

// mustWork takes and releases a key with a Backend with a short timeout.
func mustWork(tb testing.TB, b *etcdlock.Backend, key string) {
	tb.Helper()
	releaseRepeatedly(tb, b, tryRepeatedly(tb, b, request(key)))
}

// register is a resource that a lock protects. Its checks fail if a token is not larger
// than the one before, or if two holders use it at the same time.
type register struct {
	users atomic.Int32
	token atomic.Uint64
	uses  atomic.Int64
}

func (r *register) begin(tb testing.TB, token uint64) {
	tb.Helper()
	if n := r.users.Add(1); n != 1 {
		tb.Errorf("%d holders at the same time", n)
	}
	if last := r.token.Swap(token); token <= last {
		tb.Errorf("token %d after token %d", token, last)
	}
	r.uses.Add(1)
}

func (r *register) end() { r.users.Add(-1) }

// mustEnd waits until the holder is told that its lease is lost.
func mustEnd(tb testing.TB, lease *distlock.Lease) {
	tb.Helper()
	select {
	case <-lease.Context().Done():
	case <-time.After(patience):
		tb.Fatal("the holder is not told")
	}
	if err := context.Cause(lease.Context()); !errors.Is(err, driver.ErrLost) {
		tb.Errorf("the holder's context was cancelled because of %v", err)
	}
}
