package etcdlock_test

import (
	"context"
	"errors"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// newMutex returns the concurrency.Mutex of a key, with a session of its own.
func newMutex(tb testing.TB, c *clientv3.Client, key string) *concurrency.Mutex {
	tb.Helper()
	s, err := concurrency.NewSession(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return concurrency.NewMutex(s, etcdlock.DefaultPrefix+etcdlock.EscapeKey(key))
}

// A Mutex waits in the same queue: for a holder of this package, in front of a later
// waiter, and no process hands the key on while a Mutex waits.
func TestMutexInTheQueue(t *testing.T) {
	t.Parallel()
	c := newClient(t, etcdtest.Shared(t).Addr())
	b := newBackend(t, c)
	key := t.Name()
	g := testkit.MustTry(t, b, testkit.NewRequest(key))
	m := newMutex(t, c, key)
	locked := make(chan error, 1)
	go func() { locked <- m.Lock(context.Background()) }()
	testkit.Eventually(t, "the Mutex has a place", func() bool { return len(places(t, c, key)) == 2 })
	w := startWaiter(t, b, c, testkit.NewRequest(key))
	if _, err := b.Extend(context.Background(), g, 8); !errors.Is(err, driver.ErrNotAcquired) {
		t.Errorf("Extend while a Mutex waits: %v", err)
	}
	testkit.MustRelease(t, b, g)
	if err := <-locked; err != nil {
		t.Fatalf("concurrency.Mutex: %v", err)
	}
	w.MustWait(t)
	testkit.MustBeBusy(t, b, key)
	infos, err := b.Inspect(context.Background(), key, 10)
	if err != nil || len(infos) != 1 || infos[0].Held != 1 || infos[0].Waiting != 1 || infos[0].Holders[0].Holder != "" {
		t.Errorf("listed as %+v, %v", infos, err)
	}
	if err := m.Unlock(context.Background()); err != nil {
		t.Fatalf("concurrency.Mutex: %v", err)
	}
	next := w.Served(t)
	if next.Token <= g.LastToken {
		t.Errorf("token %d after token %d", next.Token, g.LastToken)
	}
	testkit.MustRelease(t, b, next)
}
