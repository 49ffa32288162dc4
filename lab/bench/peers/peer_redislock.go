package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// redislockPeer is github.com/bsm/redislock. Without a strategy it does not wait.
// Without a deadline in the context, as here, it waits no longer than the lease.
type redislockPeer struct {
	locker   *redislock.Client
	client   *redis.Client
	strategy redislock.RetryStrategy
}

// newRedislock retries every 100 ms, as the example in the library's documentation
// does, but without the example's limit of three attempts: here callers wait until they
// have the lock.
func newRedislock(url string) (Peer, error) {
	return newRedislockWith(url, redislock.LinearBackoff(100*time.Millisecond))
}

// newPolling retries after a random pause of 200 to 400 ms. Lock aspects and most
// hand-written locks do that, and a lock without messages has to, or its waiters would
// overload the server.
func newPolling(url string) (Peer, error) {
	return newRedislockWith(url, pollBackoff{})
}

type pollBackoff struct{}

// NextBackoff implements redislock.RetryStrategy.
func (pollBackoff) NextBackoff() time.Duration {
	const interval = 200 * time.Millisecond
	return interval + rand.N(interval)
}

func newRedislockWith(url string, strategy redislock.RetryStrategy) (Peer, error) {
	c, err := newClient(url)
	if err != nil {
		return nil, err
	}
	return &redislockPeer{locker: redislock.New(c), client: c, strategy: strategy}, nil
}

func (p *redislockPeer) Lock(ctx context.Context, key string) (Held, error) {
	// Both strategies are stateless, so all calls can share one.
	lock, err := p.locker.Obtain(ctx, key, leaseTime, &redislock.Options{RetryStrategy: p.strategy})
	if err != nil {
		return Held{}, err
	}
	return Held{Unlock: lock.Release}, nil
}

func (p *redislockPeer) Close() error { return p.client.Close() }
