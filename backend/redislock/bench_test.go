package redislock_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

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
