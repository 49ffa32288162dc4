package redislock_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
)

// BenchmarkLockUnlock compares the Backend with the minimum for a lock on one Redis:
// SET NX PX and a compare-and-delete script, with the same client and server. The ratio
// counts.
func BenchmarkLockUnlock(b *testing.B) {
	for _, goroutines := range []int{1, 8, 64} {
		b.Run(strconv.Itoa(goroutines), func(b *testing.B) {
			s := realServer(b)
			bare := bareLock(s.Client)
			full := func(opts ...redislock.Option) func(context.Context, string) error {
				backend := newBackend(b, s.Client, opts...)
				return func(ctx context.Context, key string) error {
					g, err := backend.Acquire(ctx, request(key)) // as a Locker does
					if err != nil {
						return err
					}
					return backend.Release(ctx, g)
				}
			}
			b.Run("bare", func(b *testing.B) { onOwnKeys(b, goroutines, bare) })
			b.Run("redislock", func(b *testing.B) { onOwnKeys(b, goroutines, full()) })
		})
	}
}

func bareLock(c *redis.Client) func(ctx context.Context, key string) error {
	unlock := redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)
	return func(ctx context.Context, key string) error {
		owner := uuid.NewString()
		if err := c.SetNX(ctx, key, owner, 10*time.Second).Err(); err != nil {
			return err
		}
		return unlock.Run(ctx, c, []string{key}, owner).Err()
	}
}

// onOwnKeys measures the given number of goroutines, which never wait for each other.
func onOwnKeys(b *testing.B, goroutines int, lockUnlock func(context.Context, string) error) {
	b.ReportAllocs()
	ctx := context.Background()
	var left atomic.Int64
	left.Store(int64(b.N))
	done := make(chan error, goroutines)
	b.ResetTimer()
	for i := range goroutines {
		go func() {
			key := "bench:" + strconv.Itoa(i)
			for left.Add(-1) >= 0 {
				if err := lockUnlock(ctx, key); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range goroutines {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHandOver lets two processes alternate on one key: each operation is a
// release, a message and a claim.
func BenchmarkHandOver(b *testing.B) {
	s := realServer(b)
	b.ReportAllocs()
	backends := [2]driver.Queuer{newBackend(b, s.Client), newBackend(b, s.real.Client(b))}
	done := make(chan error, 2)
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	for _, q := range backends {
		go func() {
			for left.Add(-1) >= 0 {
				g, err := q.Acquire(context.Background(), request("k"))
				if err == nil {
					err = q.(driver.Backend).Release(context.Background(), g)
				}
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range backends {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRenew renews full batches.
func BenchmarkRenew(b *testing.B) {
	s := realServer(b)
	backend := newBackend(b, s.Client)
	grants := hold(b, backend, 256)
	for b.Loop() {
		if got := driver.RenewAll(context.Background(), backend, grants); got[255].Status != driver.Renewed {
			b.Fatal(got[255])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/lease")
}
