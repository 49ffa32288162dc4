package redlock

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

var (
	_ driver.Backend = (*Backend)(nil)
	_ driver.Pinger  = (*Backend)(nil)
)

// Backend keeps locks on a quorum of Redis masters. It is safe for concurrent
// use. Make one for each Locker, with [New].
type Backend struct {
	opts       options
	nodes      []*node
	quorum     int
	claims     *claims
	background *rediskit.Background

	starting sync.Once
	started  chan struct{}
}

// New returns a Backend that keeps locks on the masters that clients point to,
// one client for each. They must be independent of each other: no replicas of one
// another, no members of one Cluster. Their number must be odd, and three at
// least; five survive the loss of two. The order does not matter, and need not be
// the same in all processes. The clients stay the caller's, who closes them after
// the Backend; any settings will do, but hooks must not block.
//
// New sends nothing. It panics if the number is wrong, if a client is nil, is the
// client of a Cluster or of a Ring, or is there twice, and if an option is wrong.
func New(clients []redis.UniversalClient, opts ...Option) *Backend {
	checkClients(clients)
	bg := rediskit.NewBackground()
	b := &Backend{
		opts:       newOptions(opts),
		nodes:      make([]*node, len(clients)),
		quorum:     len(clients)/2 + 1,
		claims:     newClaims(len(clients)),
		background: bg,
		started:    make(chan struct{}),
	}
	w := rediskit.NewWorkers(bg.Done())
	for i, c := range clients {
		b.nodes[i] = newNode(i, c, b.opts, w, bg)
	}
	return b
}

func checkClients(clients []redis.UniversalClient) {
	if n := len(clients); n < 3 || n%2 == 0 {
		panic(fmt.Sprintf("redlock: %d clients; it takes an odd number, at least 3", n))
	}
	for i, c := range clients {
		if v := reflect.ValueOf(c); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			panic(fmt.Sprintf("redlock: client %d is nil", i))
		}
		switch c.(type) {
		case *redis.ClusterClient, *redis.Ring:
			panic(fmt.Sprintf("redlock: client %d is a %T; it must be that of one master", i, c))
		}
		for j := range i {
			if reflect.TypeOf(c).Comparable() && clients[j] == c {
				panic(fmt.Sprintf("redlock: client %d is client %d again", i, j))
			}
		}
	}
}

// Close ends what goes on in the background: nodes that did not answer a release
// keep the lock until its lease has run out. It takes no longer than the node
// timeout, and returns nil. The clients stay open. Locks are not released. A
// Backend that was closed goes on working, but retries nothing. Calling Close
// again does nothing.
func (b *Backend) Close() error {
	b.background.End(b.opts.nodeTimeout)
	return nil
}

// limit is how long one node is waited for.
func (b *Backend) limit(ttl time.Duration) time.Duration {
	return max(min(b.opts.nodeTimeout, ttl/4), time.Millisecond)
}

// Features implements [driver.Backend]. MaxTTL is the value of [WithMaxLease].
func (b *Backend) Features() driver.Features { return driver.Features{MaxTTL: b.opts.maxLease} }

func (b *Backend) checkTTL(ttl time.Duration) error {
	switch {
	case ttl < time.Millisecond: // a PEXPIRE of zero would delete the lock
		return fmt.Errorf("redlock: a TTL of %v is less than a millisecond", ttl)
	case ttl > b.opts.maxLease: // a node that came back would be trusted too early
		return fmt.Errorf("redlock: a TTL of %v is more than the %v of WithMaxLease", ttl, b.opts.maxLease)
	default:
		return nil
	}
}

// checkNames says which package refuses a key or an owner.
func checkNames(key, owner string) error {
	if err := rediskit.CheckNames(key, owner); err != nil {
		return fmt.Errorf("redlock: %w", err)
	}
	return nil
}

// start decides, at the first attempt, whether the nodes are trusted from the
// start. It waits for that.
func (b *Backend) start(ctx context.Context) error {
	if !b.opts.trustedStart {
		return nil
	}
	b.starting.Do(func() { go b.bless(ctx) })
	select {
	case <-b.started:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
