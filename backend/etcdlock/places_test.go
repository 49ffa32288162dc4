package etcdlock_test

import (
	"context"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// dirOf returns what the names of the places of a key begin with.
func dirOf(key string) string { return etcdlock.DefaultPrefix + etcdlock.EscapeKey(key) + "/" }

// places returns the names of the places of a key.
func places(tb testing.TB, c *clientv3.Client, key string) (paths []string) {
	tb.Helper()
	resp, err := c.Get(context.Background(), dirOf(key), clientv3.WithPrefix())
	if err != nil {
		tb.Fatal(err)
	}
	for _, kv := range resp.Kvs {
		paths = append(paths, string(kv.Key))
	}
	return paths
}

// startWaiter starts a waiter and returns when it has a place.
func startWaiter(tb testing.TB, b *etcdlock.Backend, c *clientv3.Client, r driver.Request) *testkit.Waiter {
	tb.Helper()
	before := len(places(tb, c, r.Key))
	w := testkit.StartWaiter(tb, b, r)
	testkit.Eventually(tb, "the waiter has a place", func() bool { return len(places(tb, c, r.Key)) > before })
	return w
}
