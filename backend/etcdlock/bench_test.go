package etcdlock_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
)

// contender acquires and releases the lock for a key, once.
type contender func(key string) error

func ours(b *etcdlock.Backend) contender {
	return func(key string) error {
		g, err := b.Acquire(context.Background(), driver.Request{Key: key, Owner: uuid.NewString(), TTL: patience, Tokens: 1})
		if err != nil {
			return err
		}
		return b.Release(context.Background(), g)
	}
}

// theirs is the lock of the client library. Each goroutine needs a session of its own if
// it shares a key with others, because a session has one place in the queue.
func theirs(b *testing.B, c *clientv3.Client) contender {
	b.Helper()
	var sessions sync.Pool
	return func(key string) error {
		s, ok := sessions.Get().(*concurrency.Session)
		if !ok {
			var err error
			if s, err = concurrency.NewSession(c); err != nil {
				return err
			}
			b.Cleanup(func() { _ = s.Close() })
		}
		defer sessions.Put(s)
		m := concurrency.NewMutex(s, "theirs/"+key)
		if err := m.Lock(context.Background()); err != nil {
			return err
		}
		return m.Unlock(context.Background())
	}
}

// BenchmarkLock measures a lock and an unlock of this package and of the client library,
// each with one connection.
func BenchmarkLock(b *testing.B) {
	for _, impl := range []struct {
		name string
		open func(b *testing.B, c *clientv3.Client) contender
	}{
		{"etcdlock", func(b *testing.B, c *clientv3.Client) contender { return ours(newBackend(b, c)) }},
		{"concurrency.Mutex", theirs},
	} {
		b.Run(impl.name, func(b *testing.B) {
			c := newClient(b, shared.Server(b).Addr())
			for _, load := range []struct {
				name       string
				goroutines int
				keys       int
			}{{"uncontended", 1, 1}, {"100-keys", 100, 100}, {"one-key", 100, 1}} {
				b.Run(load.name, func(b *testing.B) { lockRepeatedly(b, impl.open(b, c), load.goroutines, load.keys) })
			}
		})
	}
}

func lockRepeatedly(b *testing.B, lock contender, goroutines, keys int) {
	b.Helper()
	for k := range keys {
		if err := lock("bench" + strconv.Itoa(k)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	var done atomic.Int64
	var wg sync.WaitGroup
	for i := range goroutines {
		key := "bench" + strconv.Itoa(i%keys)
		wg.Go(func() {
			for done.Add(1) <= int64(b.N) {
				if err := lock(key); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
