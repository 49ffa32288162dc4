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
		return onRedis(func(c *redis.Client) lockFunc { return lockOn(redislock.New(c, redislock.Config{}), distlock.Config{}) })(t)
	}
	b, err := backendurl.Open(context.Background(), t.URL) // it has a time limit of its own
	if err != nil {
		return nil, err
	}
	return lockOn(b.Backend, distlock.Config{}), nil
}

// sharing is the name of this library with the locks that it shares with Redisson.
const sharing = "redissonlock"

func newSharing(c *redis.Client) lockFunc {
	return lockOn(redissonlock.New(c, redissonlock.Config{}), distlock.Config{})
}

// direct is the name of this library without hand-overs: each lock goes through the store.
const direct = "distlock-direct"

func newDirect(c *redis.Client) lockFunc {
	return lockOn(redislock.New(c, redislock.Config{}), distlock.Config{HandOverTime: -1})
}

// lockOn is this library on a store.
func lockOn(b driver.Backend, cfg distlock.Config) lockFunc {
	locker := distlock.New(b, cfg)
	return func(ctx context.Context, key string) (unlockFunc, error) {
		lease, err := locker.Acquire(ctx, key, distlock.Opts{KeyTimeout: leaseTime})
		if err != nil {
			return nil, err
		}
		return lease.Release, nil
	}
}
