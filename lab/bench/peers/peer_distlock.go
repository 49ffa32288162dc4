package main

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/driver"
)

// newDistlock opens this library on any store.
func newDistlock(t task) (lockFunc, error) {
	if strings.HasPrefix(t.URL, "redis://") {
		return onRedis(func(c *redis.Client) lockFunc { return lockOn(redislock.New(c, redislock.Config{})) })(t)
	}
	b, err := backendurl.Open(context.Background(), t.URL) // it has a time limit of its own
	if err != nil {
		return nil, err
	}
	return lockOn(b.Backend), nil
}

// sharing is the name of this library with the locks that it shares with Redisson.
const sharing = "redissonlock"

func newSharing(c *redis.Client) lockFunc { return lockOn(redissonlock.New(c, redissonlock.Config{})) }

// lockOn is this library with all defaults.
func lockOn(b driver.Backend) lockFunc {
	locker := distlock.New(b, distlock.Config{})
	return func(ctx context.Context, key string) (unlockFunc, error) {
		lease, err := locker.Acquire(ctx, key, distlock.Opts{KeyTimeout: leaseTime})
		if err != nil {
			return nil, err
		}
		return lease.Release, nil
	}
}
