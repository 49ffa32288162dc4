package main

import (
	"context"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// rueidislockPeer is github.com/redis/rueidis/rueidislock, set up as its README
// says for one server of version 7.0.5 or later: one key instead of three, and no
// notifications about one's own changes. Waiters are woken by the invalidation
// messages of client-side caching. All calls share one connection, pipelined,
// which is how the library wants it, so there is no pool to size.
//
// An attempt has a second for its answer instead of 20 ms, which is after what
// time the next of several keys would be tried. With a thousand goroutines more
// attempts than not take longer than that, and few locks are got at all.
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

func (p *rueidislockPeer) Lock(ctx context.Context, key string) (Held, error) {
	_, cancel, err := p.locker.WithContext(ctx, key)
	if err != nil {
		return Held{}, err
	}
	return Held{Unlock: func(context.Context) error {
		cancel() // returns when the key is deleted, and has no error to tell
		return nil
	}}, nil
}

func (p *rueidislockPeer) Close() error {
	p.locker.Close()
	return nil
}
