package zklock_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
)

// contender acquires and releases the lock for a key, once.
type contender func(key string) error

func ours(b *zklock.Backend) contender {
	return func(key string) error {
		g, err := b.Acquire(context.Background(), driver.Request{Key: key, Owner: uuid.NewString(), TTL: time.Second, Tokens: 64})
		if err != nil {
			return err
		}
		return b.Release(context.Background(), g)
	}
}

// theirs is the lock of the client library.
func theirs(c *zk.Conn) contender {
	return func(key string) error {
		l := zk.NewLock(c, "/theirs/"+key, zk.WorldACL(zk.PermAll))
		if err := l.Lock(); err != nil {
			return err
		}
		return l.Unlock()
	}
}

// BenchmarkLock measures a lock and an unlock of this package and of the client library,
// each with one connection.
func BenchmarkLock(b *testing.B) {
	s := shared.Server(b)
	for _, impl := range []struct {
		name string
		open func(b *testing.B) contender
	}{
		{"zklock", func(b *testing.B) contender { return ours(newBackend(b, []string{s.Addr()})) }},
		{"zk.NewLock", func(b *testing.B) contender { return theirs(newAdmin(b, s.Addr())) }},
	} {
		b.Run(impl.name, func(b *testing.B) {
			for _, c := range []struct {
				name       string
				goroutines int
				keys       int
			}{{"uncontended", 1, 1}, {"100-keys", 100, 100}, {"one-key", 100, 1}} {
				b.Run(c.name, func(b *testing.B) { contend(b, impl.open(b), c.goroutines, c.keys) })
			}
		})
	}
}

func contend(b *testing.B, lock contender, goroutines, keys int) {
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
