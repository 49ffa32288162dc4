package etcdlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// An operator ends the lease of etcd, or deletes all keys. All holders are told by the next
// renewal, nothing of the old session is left, and waiters and later owners are served in a
// new session, with larger tokens.
//
// Row 28 (etcdlock): after the lease of etcd was revoked, all holders are told by the next
// renewal, and waiters and later owners are served. Fails if a renewal does not ask whether
// the place exists.
func TestSessionLost(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(c *clientv3.Client, lease clientv3.LeaseID) error{
		"revoked": func(c *clientv3.Client, lease clientv3.LeaseID) error {
			_, err := c.Revoke(context.Background(), lease)
			return err
		},
		"deleted": func(c *clientv3.Client, _ clientv3.LeaseID) error {
			_, err := c.Delete(context.Background(), "lost/"+"deleted/", clientv3.WithPrefix())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, shared.Server(t).Addr())
			prefix := "lost/" + name + "/"
			b := newBackend(t, c, etcdlock.WithPrefix(prefix))
			keys := []string{"a", "b"}
			var grants []driver.Grant
			for _, key := range keys {
				grants = append(grants, testkit.MustTry(t, b, testkit.NewRequest(key)))
			}
			resp, err := c.Get(context.Background(), prefix, clientv3.WithPrefix())
			if err != nil {
				t.Fatal(err)
			}
			lease := clientv3.LeaseID(resp.Kvs[0].Lease)
			r := testkit.NewRequest(keys[0])
			r.Backoff = driver.NewBackoff(50*time.Millisecond, 0)
			got := make(chan driver.Grant, 1)
			go func() {
				g, err := b.Acquire(context.Background(), r)
				if err != nil {
					t.Errorf("Acquire: %v", err)
				}
				got <- g
			}()
			testkit.Eventually(t, "the waiter has a place", func() bool {
				resp, err := c.Get(context.Background(), prefix+keys[0]+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
				return err == nil && resp.Count == 2
			})
			if err := spoil(c, lease); err != nil {
				t.Fatal(err)
			}
			if err := b.Ping(context.Background()); err != nil {
				t.Errorf("Ping: %v", err)
			}
			for i, result := range driver.RenewAll(context.Background(), b, grants) {
				if result.Status != driver.Lost {
					t.Errorf("renewal of grant %d: %v, %v", i, result.Status, result.Err)
				}
			}
			next := <-got
			if next.Token <= grants[0].LastToken {
				t.Errorf("token %d after token %d", next.Token, grants[0].LastToken)
			}
			if err := b.Release(context.Background(), grants[0]); !errors.Is(err, driver.ErrLost) {
				t.Errorf("Release of a lost lock: %v", err)
			}
			if got := testkit.Renewed(t, b, next); got.Status != driver.Renewed {
				t.Errorf("renewal in the new session: %v, %v", got.Status, got.Err)
			}
			testkit.MustRelease(t, b, next)
			testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest(keys[1])))
			testkit.Eventually(t, "the old lease is gone", func() bool {
				ttl, err := c.TimeToLive(context.Background(), lease)
				return err == nil && ttl.TTL < 0
			})
		})
	}
}

// A process that ends without Close blocks its keys for the TTL of the session. The holder
// that keeps its session alive has the key for much longer.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	c := newClient(t, addr)
	b := newBackend(t, c, etcdlock.WithSessionTTL(2*time.Second))
	g := testkit.MustTry(t, b, testkit.NewRequest(t.Name()+"/kept"))
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		sent := time.Now()
		switch r := testkit.Renewed(t, b, g); {
		case r.Status == driver.Renewed:
			g.Sent = sent
		case time.Since(g.Sent) < g.TTL:
			t.Fatalf("%v after the last renewal: %v, %v", time.Since(g.Sent), r.Status, r.Err)
		default:
			t.Skip("the machine was too slow for what this test shows")
		}
		time.Sleep(100 * time.Millisecond)
	}
	crashing := newClient(t, addr)
	crashed := newBackend(t, crashing, etcdlock.WithSessionTTL(time.Second))
	lost := testkit.MustTry(t, crashed, testkit.NewRequest(t.Name()+"/crashed"))
	etcdlock.Crash(crashed)
	testkit.Eventually(t, "the key is free", func() bool { return len(places(t, c, lost.Key)) == 0 })
}
