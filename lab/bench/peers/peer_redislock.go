package main

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// redislockPeer is github.com/bsm/redislock. Without a strategy it does not wait. It retries
// every 100 ms, as the example in the library's documentation does, but without the example's
// limit of three attempts: here callers wait until they have the lock.
type redislockPeer struct {
	locker *redislock.Client
	client *redis.Client
}

func newRedislock(url string) (Peer, error) {
	c, err := newClient(url)
	if err != nil {
		return nil, err
	}
	return &redislockPeer{locker: redislock.New(c), client: c}, nil
}

func (p *redislockPeer) Lock(ctx context.Context, key string) (func(context.Context) error, error) {
	strategy := redislock.LinearBackoff(100 * time.Millisecond)
	lock, err := p.locker.Obtain(ctx, key, leaseTime, &redislock.Options{RetryStrategy: strategy})
	if err != nil {
		return nil, err
	}
	return lock.Release, nil
}

func (p *redislockPeer) Close() error { return p.client.Close() }
