package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// bare is the name of the peer that others are compared with.
const bare = "bare"

// barePeer does not use a library. It uses the commands that the documentation of Redis
// gives for a lock on one server: SET with NX and PX, and a script that deletes the key
// if its value is still the caller's. It has no token, no renewal and no queue. It is
// the minimum cost of a lock without contention.
//
// The documentation does not say how to wait while the lock is held. Here the caller
// tries again after a random pause of one to two times bareDelay.
type barePeer struct{ client *redis.Client }

// bareDelay gave the best result with one key. With less, a thousand goroutines keep
// the server so busy that the holder cannot release the lock.
const bareDelay = 25 * time.Millisecond

var bareUnlock = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)

func newBare(url string) (Peer, error) {
	c, err := newClient(url)
	if err != nil {
		return nil, err
	}
	return &barePeer{client: c}, nil
}

func (p *barePeer) Lock(ctx context.Context, key string) (func(context.Context) error, error) {
	owner := uuid.NewString()
	for {
		ok, err := p.client.SetNX(ctx, key, owner, leaseTime).Result()
		if err != nil {
			return nil, err
		}
		if ok {
			break
		}
		if err := pause(ctx, bareDelay+rand.N(bareDelay)); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) error {
		n, err := bareUnlock.Run(ctx, p.client, []string{key}, owner).Int64()
		return lockedUntil(n == 1, err)
	}, nil
}

func (p *barePeer) Close() error { return p.client.Close() }

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
