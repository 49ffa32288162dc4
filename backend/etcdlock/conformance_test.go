package etcdlock_test

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

// TestConformance runs the conformance suite. Its leases of a minute need a session of
// more than two.
func TestConformance(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	c := newClient(t, shared.Server(t).Addr())
	open := func(t *testing.T) driver.Backend {
		b, err := etcdlock.New(c, etcdlock.Config{SessionTTL: 5 * time.Minute, OpTimeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	locktest.Run(t, open, locktest.Features{
		Lease: 400 * time.Millisecond,
		Drop:  func(t *testing.T, _ driver.Backend, key string) { drop(t, c, key) },
		Peer:  func(t *testing.T, _ driver.Backend) driver.Backend { return open(t) },
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
