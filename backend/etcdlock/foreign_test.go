package etcdlock_test

import (
	"context"
	"slices"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestForeign: another program has written a key with the name of the lock, and later
// one in its queue. Neither has a lease.
//
// Row 22 (etcdlock): a key with the name of the lock does not matter, and one in its
// queue is a place that excludes others until it is deleted. Fails if places that the
// Backend has not made do not count.
func TestForeign(t *testing.T) { onBoth(t, foreign) }

func foreign(t *testing.T, c *clientv3.Client) {
	b := newBackend(t, c)
	put := func(path string) {
		t.Helper()
		if _, err := c.Put(context.Background(), path, "a value of 3 words"); err != nil {
			t.Fatal(err)
		}
	}
	key := t.Name()
	put(etcdlock.DefaultPrefix + etcdlock.EscapeKey(key))
	mustWork(t, b, key)
	put(dirOf(key) + "note")
	testkit.MustBeBusy(t, b, key)
	w := startWaiter(t, b, c, testkit.NewRequest(key))
	w.MustWait(t)
	if held, err := b.ForceRelease(context.Background(), key); !held || err != nil {
		t.Errorf("ForceRelease: %v, %v", held, err)
	}
	testkit.MustRelease(t, b, w.Served(t))
	put(dirOf("") + "note")
	infos, err := b.Inspect(t.Context(), "", 1000)
	if err != nil || slices.ContainsFunc(infos, func(i driver.KeyInfo) bool { return i.Key == "" }) {
		t.Errorf("%v, %v", infos, err)
	}
}
