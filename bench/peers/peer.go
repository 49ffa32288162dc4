package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// ours is the name of the kit that all others are compared with.
const ours = "distlock"

// leaseTime is the lease that everybody gets. Nobody holds a lock nearly as
// long, so renewal has no part in the figures.
const leaseTime = 10 * time.Second

// Peer takes locks in one store by the means of one library. It is safe for
// concurrent use.
type Peer interface {
	// Lock waits for the lock and takes it. It fails if ctx ends first.
	Lock(ctx context.Context, key string) (Held, error)

	// Close gives up the connections. No lock is held then.
	Close() error
}

// Held is a lock that is held.
type Held struct {
	// Unlock gives the lock back.
	Unlock func(ctx context.Context) error

	// Token is the fencing token, 0 if the library has none.
	Token uint64
}

// makers has the constructor of every peer by name. Those that are measured are
// picked by the scenarios.
var makers = map[string]func(url string) (Peer, error){
	ours:          newDistlock,
	"bare":        newBare,
	"redislock":   newRedislock,
	"polling":     newPolling,
	"redsync":     newRedsync,
	"rueidislock": newRueidislock,
	goZooKeeper:   newGoZooKeeper,
}

// everybody is the field of most scenarios, in the order of the tables.
var everybody = []string{ours, "bare", "redislock", "redsync", "rueidislock"}

// rivals are those that ours is compared with, in any scenario.
var rivals = slices.Concat(everybody[1:], []string{goZooKeeper})

func newPeer(name, url string) (Peer, error) {
	makePeer, ok := makers[name]
	if !ok {
		names := make([]string, 0, len(makers))
		for n := range makers {
			names = append(names, n)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("there is no peer %q, only %v", name, names)
	}
	return makePeer(url)
}

// newClient returns the go-redis client that all peers but rueidislock use. Its
// pool is go-redis's default, ten connections for each CPU: between ten and a
// thousand that is about what gave the most locks per second, and more than a
// hundred gave half of it. But whoever waits for one of them has a minute, not
// four seconds, since a thousand goroutines share them.
func newClient(url string) (*redis.Client, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	o.PoolTimeout = time.Minute
	return redis.NewClient(o), nil
}
