package main

import (
	"context"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// rueidislockPeer is github.com/redis/rueidis/rueidislock, set up as its README says
// for one server of version 7.0.5 or later: one key instead of three, and no
// notifications of own changes. The invalidation messages of client-side caching wake
// waiters. All calls are pipelined on one connection, as the library intends, so there
// is no pool to size.
//
// An attempt has a time limit of a second instead of 20 ms, which is when the next of
// several keys would be tried. With a thousand goroutines most attempts take longer
// than 20 ms, and few locks would be acquired at all.
type rueidislockPeer struct{ locker rueidislock.Locker }

func newRueidislock(url string) (Peer, error) {
	o, err := rueidis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   o,
		KeyValidity:    leaseTime,
		KeyMajority:    1,
		NoLoopTracking: true,
		TryNextAfter:   time.Second,
	})
	if err != nil {
		return nil, err
	}
	return &rueidislockPeer{locker: l}, nil
}

func (p *rueidislockPeer) Lock(ctx context.Context, key string) (func(context.Context) error, error) {
	_, cancel, err := p.locker.WithContext(ctx, key)
	if err != nil {
		return nil, err
	}
	return func(context.Context) error {
		cancel() // returns when the key is deleted, and cannot fail
		return nil
	}, nil
}

func (p *rueidislockPeer) Close() error {
	p.locker.Close()
	return nil
}
