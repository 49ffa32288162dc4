package etcdlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
)

// patience is how long a test waits for something that must happen soon.
const patience = 15 * time.Second

func request(key string) driver.Request {
	return driver.Request{Key: key, Owner: uuid.NewString(), TTL: 10 * time.Minute, Tokens: 1}
}

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

func mustAcquire(tb testing.TB, b *etcdlock.Backend, r driver.Request) driver.Grant {
	tb.Helper()
	g, err := b.TryAcquire(context.Background(), r)
	if err != nil {
		tb.Fatalf("TryAcquire of a free key: %v", err)
	}
	return g
}

func mustBeBusy(tb testing.TB, b *etcdlock.Backend, key string) {
	tb.Helper()
	if _, err := b.TryAcquire(context.Background(), request(key)); !errors.Is(err, driver.ErrNotAcquired) {
		tb.Fatalf("TryAcquire of a held key: %v", err)
	}
}

func mustRelease(tb testing.TB, b *etcdlock.Backend, g driver.Grant) {
	tb.Helper()
	if err := b.Release(context.Background(), g); err != nil {
		tb.Fatalf("Release by the holder: %v", err)
	}
}

func renewed(b *etcdlock.Backend, g driver.Grant) driver.RenewResult {
	return driver.RenewAll(context.Background(), b, []driver.Grant{g})[0]
}

// waiter is a call of Acquire on a goroutine of its own.
type waiter struct {
	request driver.Request
	cancel  context.CancelFunc
	done    chan struct{}
	grant   driver.Grant
	err     error
}

// startWaiter starts a waiter and returns when it has a place. Unless r has a Backoff, it
// does not look by itself for an hour.
func startWaiter(tb testing.TB, b *etcdlock.Backend, c *clientv3.Client, r driver.Request) *waiter {
	tb.Helper()
	if r.Backoff == nil {
		r.Backoff = driver.NewBackoff(time.Hour, 0)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &waiter{request: r, cancel: cancel, done: make(chan struct{})}
	before := len(places(tb, c, r.Key))
	go func() {
		w.grant, w.err = b.Acquire(ctx, r)
		close(w.done)
	}()
	tb.Cleanup(func() {
		cancel()
		<-w.done
	})
	eventually(tb, patience, "the waiter has a place", func() bool { return len(places(tb, c, r.Key)) > before })
	return w
}

func (w *waiter) served(tb testing.TB) driver.Grant {
	tb.Helper()
	select {
	case <-w.done:
	case <-time.After(patience):
		tb.Fatal("the waiter does not get the key")
	}
	if w.err != nil {
		tb.Fatalf("Acquire: %v", w.err)
	}
	return w.grant
}

func (w *waiter) mustWait(tb testing.TB) {
	tb.Helper()
	select {
	case <-w.done:
		tb.Fatalf("Acquire returned early: %v", w.err)
	default:
	}
}
