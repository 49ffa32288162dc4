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

// A lockFunc takes locks in one store with one library: it waits for the lock, acquires it,
// and returns what releases it. It fails if ctx ends first, if the library can do that. It is
// safe for concurrent use. Its connections are closed when the process ends.
type lockFunc func(ctx context.Context, key string) (unlockFunc, error)

type unlockFunc func(ctx context.Context) error

// peers has what opens every peer in Go, and every probe, by name. The scenarios select them.
var peers = map[string]func(task) (lockFunc, error){
	ours:          newDistlock,
	sharing:       onRedis(newSharing),
	direct:        onRedis(newDirect),
	bare:          onRedis(newBare),
	"redislock":   onRedis(newRedislock),
	"redsync":     onRedis(newRedsync),
	"rueidislock": newRueidislock,
	goZooKeeper:   newGoZooKeeper,
	advisory:      newAdvisory,
	forUpdate:     newForUpdate,
	etcdMutex:     newEtcdMutex,
	bareKV:        newBareKV,
	cirello:       newCirello,
	bareS3:        newBareS3,
	ping:          onRedis(newPing),
	publish:       newPublish,
	pipeline:      newPipeline,
}

// rivals are the peers that our lock is compared with, in any scenario.
var rivals = []string{bare, "redislock", "redsync", "rueidislock", goZooKeeper, forUpdate, advisory, etcdMutex, redisson, bareKV, cirello, bareS3, elector}

// lockedUntil returns the error of an unlock that found out whether the lock was still held.
func lockedUntil(now bool, err error) error {
	if err == nil && !now {
		return errors.New("the lock was no longer held")
	}
	return err
}

// newClient returns the go-redis client of all peers except rueidislock. The pool has
// go-redis's default size, ten connections for each CPU: of the sizes between ten and a
// thousand that gave about the most locks per second, and sizes above a hundred gave
// half of it. But a caller may wait a minute for a connection and not four seconds,
// because a thousand goroutines share them.
func newClient(t task) (*redis.Client, error) {
	o, err := redis.ParseURL(t.URL)
	if err != nil {
		return nil, err
	}
	o.PoolTimeout = time.Minute
	return redis.NewClient(o), nil
}

// onRedis opens a peer that uses go-redis.
func onRedis(open func(*redis.Client) lockFunc) func(task) (lockFunc, error) {
	return func(t task) (lockFunc, error) {
		c, err := newClient(t)
		if err != nil {
			return nil, err
		}
		return open(c), nil
	}
}
