package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// ours is the name of the library under test.
const ours = "distlock"

// leaseTime is the lease of all peers. Locks are held for a much shorter time, so
// renewal does not affect the figures.
const leaseTime = 10 * time.Second

// Peer takes locks in one store with one library. It is safe for concurrent use.
type Peer interface {
	// Lock waits for the lock and acquires it. It fails if ctx ends first.
	Lock(ctx context.Context, key string) (Held, error)

	// Close closes the connections. No lock is held at that time.
	Close() error
}

// Held is a lock that is held.
type Held struct {
	// Unlock releases the lock.
	Unlock func(ctx context.Context) error

	// Token is the fencing token; 0 if the library has none.
	Token uint64
}

// makers has the constructor of every peer by name. The scenarios select the peers.
var makers = map[string]func(url string) (Peer, error){
	ours:          newDistlock,
	"bare":        newBare,
	"redislock":   newRedislock,
	"polling":     newPolling,
	"redsync":     newRedsync,
	"rueidislock": newRueidislock,
	goZooKeeper:   newGoZooKeeper,
	advisory:      newAdvisory,
	forUpdate:     newForUpdate,
	etcdMutex:     newEtcdMutex,
	sharing:       newSharing,
}

// redisPeers is the field of most scenarios, in the order of the tables.
var redisPeers = []string{ours, "bare", "redislock", "redsync", "rueidislock"}

// rivals are the peers that our lock is compared with, in any scenario.
var rivals = slices.Concat(redisPeers[1:], []string{goZooKeeper, forUpdate, advisory, etcdMutex, sharing}, javaPeers)

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

// newClient returns the go-redis client of all peers except rueidislock. The pool has
// go-redis's default size, ten connections for each CPU: of the sizes between ten and a
// thousand that gave about the most locks per second, and sizes above a hundred gave
// half of it. But a caller may wait a minute for a connection and not four seconds,
// because a thousand goroutines share them.
func newClient(url string) (*redis.Client, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	o.PoolTimeout = time.Minute
	return redis.NewClient(o), nil
}
