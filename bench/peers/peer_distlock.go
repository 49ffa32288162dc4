package main

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
)

// distlockPeer is this repository's kit with all its defaults: the bound of 64
// hand-overs, the watchdog, a token for every hold, messages between processes.
type distlockPeer struct {
	client *redis.Client
	locker *distlock.Locker
}

func newDistlock(url string) (Peer, error) {
	c, err := newClient(url)
	if err != nil {
		return nil, err
	}
	return &distlockPeer{client: c, locker: distlock.New(redislock.New(c), distlock.Config{})}, nil
}

func (p *distlockPeer) Lock(ctx context.Context, key string) (Held, error) {
	lease, err := p.locker.Acquire(ctx, key, distlock.Opts{KeyTimeout: leaseTime})
	if err != nil {
		return Held{}, err
	}
	return Held{Unlock: lease.Release, Token: lease.Token()}, nil
}

func (p *distlockPeer) Close() error {
	_ = p.locker.Close() // leaves the client open
	return p.client.Close()
}
