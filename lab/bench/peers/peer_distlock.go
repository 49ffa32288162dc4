package main

import (
	"context"
	"strings"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/cmd/backendurl"
)

// distlockPeer is this library with all defaults: at most 64 hand-overs in a row, the
// watchdog, a token for every holder, messages between processes.
type distlockPeer struct {
	locker *distlock.Locker
	end    func() error // closes the client of the locker
}

// newDistlock returns a peer for the store at url.
func newDistlock(url string) (Peer, error) {
	if strings.HasPrefix(url, postgreSQLScheme) || strings.HasPrefix(url, etcdScheme) {
		b, err := backendurl.Open(context.Background(), url) // it has a time limit of its own
		if err != nil {
			return nil, err
		}
		return &distlockPeer{locker: distlock.New(b.Backend, distlock.Config{}), end: b.Close}, nil
	}
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

// sharing is the name of this library with the locks that it shares with Redisson.
const sharing = "redissonlock"

func newSharing(url string) (Peer, error) {
	c, err := newClient(url)
	if err != nil {
		return nil, err
	}
	return &distlockPeer{locker: distlock.New(redissonlock.New(c), distlock.Config{}), end: c.Close}, nil
}
