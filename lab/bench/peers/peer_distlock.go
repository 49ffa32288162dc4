package main

import (
	"context"
	"strings"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/driver"
)

// distlockPeer is this library with all defaults.
type distlockPeer struct {
	locker *distlock.Locker
	end    func() error // closes the client of the locker
}

// newDistlock returns a peer for the store at url.
func newDistlock(url string) (Peer, error) {
	if strings.HasPrefix(url, "redis://") {
		c, err := newClient(url)
		if err != nil {
			return nil, err
		}
		return newDistlockPeer(redislock.New(c), c.Close), nil
	}
	b, err := backendurl.Open(context.Background(), url) // it has a time limit of its own
	if err != nil {
		return nil, err
	}
	return newDistlockPeer(b.Backend, b.Close), nil
}

// sharing is the name of this library with the locks that it shares with Redisson.
const sharing = "redissonlock"

func newSharing(url string) (Peer, error) {
	c, err := newClient(url)
	if err != nil {
		return nil, err
	}
	return newDistlockPeer(redissonlock.New(c), c.Close), nil
}

func newDistlockPeer(b driver.Backend, end func() error) *distlockPeer {
	return &distlockPeer{locker: distlock.New(b, distlock.Config{}), end: end}
}

func (p *distlockPeer) Lock(ctx context.Context, key string) (func(context.Context) error, error) {
	lease, err := p.locker.Acquire(ctx, key, distlock.Opts{KeyTimeout: leaseTime})
	if err != nil {
		return nil, err
	}
	return lease.Release, nil
}

func (p *distlockPeer) Close() error {
	_ = p.locker.Close()
	return p.end()
}
