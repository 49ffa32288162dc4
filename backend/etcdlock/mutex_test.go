package etcdlock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
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

func mustLock(tb testing.TB, m *concurrency.Mutex) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := m.Lock(ctx); err != nil {
		tb.Fatalf("concurrency.Mutex: %v", err)
	}
}

func mustUnlock(tb testing.TB, m *concurrency.Mutex) {
	tb.Helper()
	if err := m.Unlock(context.Background()); err != nil {
		tb.Fatalf("concurrency.Mutex: %v", err)
	}
}

// Programs with concurrency.Mutex and with distlock share a lock: both take turns, and no
// visit is lost.
func TestMutexSharesTheLock(t *testing.T) {
	t.Parallel()
	c := newClient(t, shared.Server(t).Addr())
	const workers, visits = 3, 20
	key := t.Name()
	var inside, counted atomic.Int64
	visit := func() {
		if n := inside.Add(1); n != 1 {
			t.Errorf("%d visits at once", n)
		}
		n := counted.Load() // in two steps: an overlap loses a visit
		time.Sleep(time.Millisecond)
		counted.Store(n + 1)
		inside.Add(-1)
	}
	var ours, theirs atomic.Int64 // visits so far
	var behind atomic.Int64       // the visits of the others that were seen to be between two own ones
	var group sync.WaitGroup
	for range workers {
		m := newMutex(t, c, key)
		locker := distlock.New(newBackend(t, c), distlock.Config{})
		t.Cleanup(func() { _ = locker.Close() })
		group.Go(func() {
			for range visits {
				before := ours.Load()
				mustLock(t, m)
				visit()
				theirs.Add(1)
				behind.Add(ours.Load() - before)
				mustUnlock(t, m)
			}
		})
		group.Go(func() {
			for range visits {
				before := theirs.Load()
				if err := locker.Do(context.Background(), key, distlock.Opts{}, func(context.Context) error {
					visit()
					ours.Add(1)
					behind.Add(theirs.Load() - before)
					return nil
				}); err != nil {
					t.Errorf("Do: %v", err)
				}
			}
		})
	}
	group.Wait()
	if n := counted.Load(); n != 2*workers*visits {
		t.Errorf("%d visits of %d were counted", n, 2*workers*visits)
	}
	if behind.Load() < visits {
		t.Error("they did not take turns")
	}
	if left := places(t, c, key); len(left) > 0 {
		t.Errorf("left in etcd: %q", left)
	}
}

// A Mutex waits in the same queue: for a holder of this package, in front of a later
// waiter, and no process hands the key on while a Mutex waits.
func TestMutexInTheQueue(t *testing.T) {
	t.Parallel()
	c := newClient(t, shared.Server(t).Addr())
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
	mustUnlock(t, m)
	next := w.Served(t)
	if next.Token <= g.LastToken {
		t.Errorf("token %d after token %d", next.Token, g.LastToken)
	}
	testkit.MustRelease(t, b, next)
}
