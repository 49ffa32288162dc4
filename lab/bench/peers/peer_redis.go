package main

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// bare is the name of the peer that others are compared with.
const bare = "bare"

// bareDelay gave the best result with one key. With less, a thousand goroutines keep
// the server so busy that the holder cannot release the lock.
const bareDelay = 25 * time.Millisecond

var bareUnlock = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)

// newBare does not use a library. It uses the commands that the documentation of Redis
// gives for a lock on one server: SET with NX and PX, and a script that deletes the key
// if its value is still the caller's. It has no token, no renewal and no queue. It is
// the minimum cost of a lock without contention.
//
// The documentation does not say how to wait while the lock is held: see [polling].
func newBare(c *redis.Client) lockFunc {
	return polling(bareDelay, func(ctx context.Context, key string) (unlockFunc, error) {
		owner := uuid.NewString()
		if ok, err := c.SetNX(ctx, key, owner, leaseTime).Result(); !ok {
			return nil, err
		}
		return func(ctx context.Context) error {
			n, err := bareUnlock.Run(ctx, c, []string{key}, owner).Int64()
			return lockedUntil(n == 1, err)
		}, nil
	})
}

// newRedislock uses github.com/bsm/redislock. Without a strategy it does not wait. It retries
// every 100 ms, as the example in the library's documentation does, but without the example's
// limit of three attempts: here callers wait until they have the lock.
func newRedislock(c *redis.Client) lockFunc {
	locker := redislock.New(c)
	return func(ctx context.Context, key string) (unlockFunc, error) {
		strategy := redislock.LinearBackoff(100 * time.Millisecond)
		lock, err := locker.Obtain(ctx, key, leaseTime, &redislock.Options{RetryStrategy: strategy})
		if err != nil {
			return nil, err
		}
		return lock.Release, nil
	}
}

// newRedsync uses github.com/go-redsync/redsync with one pool, as in its documentation
// for one server: the quorum is one. The delay between attempts is its default, 50 to
// 250 ms. The number of attempts is not, because it gives up after 32 attempts by
// default.
func newRedsync(c *redis.Client) lockFunc {
	sync := redsync.New(goredis.NewPool(c))
	return func(ctx context.Context, key string) (unlockFunc, error) {
		// A mutex has one holder at a time, so each caller creates its own.
		m := sync.NewMutex(key, redsync.WithExpiry(leaseTime), redsync.WithTries(math.MaxInt))
		if err := m.LockContext(ctx); err != nil {
			return nil, errors.Join(err, ctx.Err()) // redsync does not report that ctx ended
		}
		return func(ctx context.Context) error { return lockedUntil(m.UnlockContext(ctx)) }, nil
	}
}

// newRueidislock uses github.com/redis/rueidis/rueidislock, set up as its README says
// for one server of version 7.0.5 or later: one key instead of three, and no
// notifications of own changes. The invalidation messages of client-side caching wake
// waiters. All calls are pipelined on one connection, as the library intends, so there
// is no pool to size.
//
// An attempt has a time limit of a second instead of 20 ms, which is when the next of
// several keys would be tried. With a thousand goroutines most attempts take longer
// than 20 ms, and few locks would be acquired at all.
func newRueidislock(t task) (lockFunc, error) {
	o, err := rueidis.ParseURL(t.URL)
	if err != nil {
		return nil, err
	}
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: o, KeyValidity: leaseTime, KeyMajority: 1, NoLoopTracking: true, TryNextAfter: time.Second,
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, key string) (unlockFunc, error) {
		_, cancel, err := locker.WithContext(ctx, key)
		if err != nil {
			return nil, err
		}
		return func(context.Context) error {
			cancel() // returns when the key is deleted, and cannot fail
			return nil
		}, nil
	}, nil
}
