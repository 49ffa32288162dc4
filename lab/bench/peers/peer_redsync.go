package main

import (
	"context"
	"errors"
	"math"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// redsyncPeer is github.com/go-redsync/redsync with one pool, as in its documentation
// for one server: the quorum is one. The delay between attempts is its default, 50 to
// 250 ms. The number of attempts is not, because it gives up after 32 attempts by
// default.
type redsyncPeer struct {
	client *redis.Client
	sync   *redsync.Redsync
}

func newRedsync(url string) (Peer, error) {
	c, err := newClient(url)
	if err != nil {
		return nil, err
	}
	return &redsyncPeer{client: c, sync: redsync.New(goredis.NewPool(c))}, nil
}

func (p *redsyncPeer) Lock(ctx context.Context, key string) (func(context.Context) error, error) {
	// A mutex has one holder at a time, so each caller creates its own.
	m := p.sync.NewMutex(key, redsync.WithExpiry(leaseTime), redsync.WithTries(math.MaxInt))
	if err := m.LockContext(ctx); err != nil {
		return nil, errors.Join(err, ctx.Err()) // redsync does not report that ctx ended
	}
	return func(ctx context.Context) error {
		ok, err := m.UnlockContext(ctx)
		return lockedUntil(ok, err)
	}, nil
}

func (p *redsyncPeer) Close() error { return p.client.Close() }
