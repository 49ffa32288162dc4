package main

import (
	"context"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/backend/zklock"
)

// distlockPeer is this library with all defaults: at most 64 hand-overs in a row, the
// watchdog, a token for every holder, messages between processes.
type distlockPeer struct {
	locker *distlock.Locker
	end    func() error // closes the client of the locker
}

// newDistlock returns a peer for the Redis or ZooKeeper at url.
func newDistlock(url string) (Peer, error) {
	if servers, ok := zooKeeperServers(url); ok {
		b, err := zklock.New(servers)
		if err != nil {
			return nil, err
		}
		return &distlockPeer{locker: distlock.New(b, distlock.Config{}), end: b.Close}, nil
	}
	c, err := newClient(url)
	if err != nil {
		return nil, err
	}
	return &distlockPeer{locker: distlock.New(redislock.New(c), distlock.Config{}), end: c.Close}, nil
}

func (p *distlockPeer) Lock(ctx context.Context, key string) (Held, error) {
	lease, err := p.locker.Acquire(ctx, key, distlock.Opts{KeyTimeout: leaseTime})
	if err != nil {
		return Held{}, err
	}
	return Held{Unlock: lease.Release, Token: lease.Token()}, nil
}

func (p *distlockPeer) Close() error {
	_ = p.locker.Close()
	return p.end()
}
