package main

import (
	"context"
	"errors"
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
	// Lock waits for the lock, acquires it, and returns what releases it. It fails if ctx
	// ends first.
	Lock(ctx context.Context, key string) (unlock func(context.Context) error, err error)

	// Close closes the connections. No lock is held at that time.
	Close() error
}

// peers has the constructor of every peer in Go by name. The scenarios select the peers.
var peers = map[string]func(url string) (Peer, error){
	ours:          newDistlock,
	bare:          newBare,
	"redislock":   newRedislock,
	"redsync":     newRedsync,
	"rueidislock": newRueidislock,
	goZooKeeper:   newGoZooKeeper,
	advisory:      newAdvisory,
	forUpdate:     newForUpdate,
	etcdMutex:     newEtcdMutex,
	sharing:       newSharing,
}

// redisPeers is the field of most scenarios, in the order of the tables.
var redisPeers = []string{ours, bare, "redislock", "redsync", "rueidislock"}

// rivals are the peers that our lock is compared with, in any scenario.
var rivals = []string{bare, "redislock", "redsync", "rueidislock", goZooKeeper, forUpdate, advisory, etcdMutex, redisson}

// errGone is the error of an unlock that found another holder, or none.
var errGone = errors.New("the lock was no longer held")

// lockedUntil returns the error of an unlock that found out whether the lock was still held.
func lockedUntil(now bool, err error) error {
	if err == nil && !now {
		return errGone
	}
	return err
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
