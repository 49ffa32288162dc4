package etcdlock_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/driver"
)

// reads does something after the first request that finds keys.
type reads struct {
	clientv3.KV
	first func()
}

// putPlaces creates n places of owners that have a name with a number, without a lease.
func putPlaces(t *testing.T, kv clientv3.KV, key, what, holder string, n int) {
	t.Helper()
	for i := range n {
		// The names are not in the order of creation.
		place := fmt.Sprintf("%s%x.1.%s", dirOf(key), 1_000_000-i, uuid.NewString())
		if _, err := kv.Put(t.Context(), place, fmt.Sprintf("%s %s@%s-%d", what, uuid.NewString(), holder, i)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { // the server is shared
		if _, err := kv.Delete(context.Background(), dirOf(key), clientv3.WithPrefix()); err != nil {
			t.Error(err)
		}
	})
}

func (r *reads) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	resp, err := r.KV.Get(ctx, key, opts...)
	if first := r.first; first != nil && err == nil && len(resp.Kvs) > 0 {
		r.first = nil
		first()
	}
	return resp, err
}

// Of long queues Inspect counts all places, as they were at one moment.
func TestInspectLongQueue(t *testing.T) { onBoth(t, inspectLongQueue) }

func inspectLongQueue(t *testing.T, c *clientv3.Client) {
	b := newBackend(t, c)
	key := func(name string) string { return t.Name() + "/" + name }
	put := func(name, what, holder string, n int) { putPlaces(t, c.KV, key(name), what, holder, n) }
	put("a", "exclusive", "writer", 1)
	put("b", "shared", "reader", 2100)
	put("b", "exclusive", "writer", 1500)
	put("b", "shared", "late", 10)
	put("c", "exclusive", "writer", 3500)
	put("d", "permits=2", "user", 3)
	c.KV = &reads{c.KV, func() { drop(t, c, key("b")); drop(t, c, key("d")) }}
	infos, err := b.Inspect(t.Context(), t.Name()+"/", 10)
	if err != nil || len(infos) != 4 {
		t.Fatalf("%d keys, %v", len(infos), err)
	}
	for i, want := range []struct {
		held, waiting int
		holder, first string
	}{{1, 0, "writer-0", ""}, {2100, 1510, "reader-0", "writer-0"}, {1, 3499, "writer-0", "writer-1"}, {2, 1, "user-0", "user-2"}} {
		info := infos[i]
		if info.Key != key(string(rune('a'+i))) || info.Held != want.held || info.Waiting != want.waiting ||
			len(info.Holders) != min(want.held, driver.MaxHolderInfos) || info.Holders[0].Holder != want.holder {
			t.Errorf("%s: %d held, %d listed, first %+v; %d waiting", info.Key, info.Held, len(info.Holders), info.Holders[0], info.Waiting)
		}
		if len(info.Waiters) != min(want.waiting, driver.MaxWaiterInfos) || want.first != "" && info.Waiters[0].Waiter != want.first {
			t.Errorf("%s: waiters %+v", info.Key, info.Waiters)
		}
	}
}

// The servers have the key that is the prefix after the keys in which a minus follows,
// and so after the first page.
func TestInspectThePrefixItself(t *testing.T) { onBoth(t, inspectThePrefixItself) }

func inspectThePrefixItself(t *testing.T, c *clientv3.Client) {
	b := newBackend(t, c)
	putPlaces(t, c.KV, t.Name(), "exclusive", "writer", 1)
	putPlaces(t, c.KV, t.Name()+"-1", "shared", "reader", 1001)
	putPlaces(t, c.KV, t.Name()+"-2", "shared", "reader", 1001)
	infos, err := b.Inspect(t.Context(), t.Name(), 1)
	if err != nil || len(infos) != 1 || infos[0].Key != t.Name() {
		t.Errorf("%d keys, the first is %.200v; %v", len(infos), infos, err)
	}
	// Places of a page that ends before the holder of the last key say nothing of that key.
	putPlaces(t, c.KV, t.Name()+"=a", "exclusive", "writer", 1001)
	putPlaces(t, c.KV, t.Name()+"=a-", "exclusive", "writer", 1)
	infos, err = b.Inspect(t.Context(), t.Name()+"=", 1)
	if err != nil || len(infos) != 1 || infos[0].Key != t.Name()+"=a-" {
		t.Errorf("%d keys, the first is %.200v; %v", len(infos), infos, err)
	}
}
