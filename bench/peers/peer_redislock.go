package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// redislockPeer is github.com/bsm/redislock. It does not wait unless it is given
// a strategy, and no longer than the lease unless the context has a deadline,
// which it has here.
type redislockPeer struct {
	locker   *redislock.Client
	client   *redis.Client
	strategy redislock.RetryStrategy
}

// newRedislock retries as the library's example of a retry does, every 100 ms,
// though without that one's limit of three attempts: here everybody waits until
// the lock is there.
func newRedislock(url string) (Peer, error) {
	return newRedislockWith(url, redislock.LinearBackoff(100*time.Millisecond))
}

// newPolling retries after 200 to 400 ms, drawn anew each time: what lock
// aspects and most hand-written locks do, and what a lock without messages can do
// if its waiters must not wear the server out.
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
	// Both strategies keep no state, so one serves all calls.
	lock, err := p.locker.Obtain(ctx, key, leaseTime, &redislock.Options{RetryStrategy: p.strategy})
	if err != nil {
		return Held{}, err
	}
	return Held{Unlock: lock.Release}, nil
}

func (p *redislockPeer) Close() error { return p.client.Close() }
