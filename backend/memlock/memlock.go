package memlock

import (
	"context"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var (
	_ driver.Backend = (*Backend)(nil)
	_ driver.Queuer  = (*Backend)(nil)

	_ driver.Inspector = (*Backend)(nil)
	_ driver.Pinger    = (*Backend)(nil)
)

// Backend is a store of locks in memory. It is safe for concurrent use; make
// one with [New].
//
// Its tokens count from 1 through all keys, so they rise for each key without a
// counter per key. They start again with the process: a resource that outlives
// the process and checks tokens needs a backend that outlives it too.
type Backend struct {
	tokens atomic.Uint64 // the last one handed out
	seed   maphash.Seed
	shards [shardCount]shard
}

// New returns an empty Backend.
func New() *Backend {
	b := &Backend{seed: maphash.MakeSeed()}
	for i := range b.shards {
		b.shards[i].init(&b.tokens)
	}
	return b
}

// TryAcquire implements [driver.Backend]. A key whose lease is over goes to
// the first in line before it goes to whoever asks.
func (b *Backend) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, err
	}
	s := b.shard(r.Key)
	s.mu.Lock()
	g, held := s.take(&r, time.Now())
	s.mu.Unlock()
	if held != nil {
		return driver.Grant{}, held
	}
	return g, nil
}

// Renew implements [driver.Backend]. The outcome is always known.
func (b *Backend) Renew(_ context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	for i := range grants {
		s := b.shard(grants[i].Key)
		s.mu.Lock()
		status := s.renew(&grants[i])
		s.mu.Unlock()
		report(i, driver.RenewResult{Status: status})
	}
}

// Release implements [driver.Backend]. It does its work even if ctx has
// ended, because it never waits.
//
// A lease that ran out while nobody else wanted the key can still be released
// without an error. Of the releases of the past a bounded number is remembered:
// repeating one of these is not an error either, although another has the key
// by now.
func (b *Backend) Release(_ context.Context, g driver.Grant) error {
	s := b.shard(g.Key)
	s.mu.Lock()
	ok := s.release(&g)
	s.mu.Unlock()
	if !ok {
		return driver.ErrLost
	}
	return nil
}

// Ping implements [driver.Pinger]. Memory always answers.
func (b *Backend) Ping(ctx context.Context) error { return ctx.Err() }

// Features implements [driver.Backend]. All requests wait in one queue, whatever they
// ask for: a reader does not overtake a writer that waits, and readers who
// stand at the head one behind the other get the key together.
func (b *Backend) Features() driver.Features { return driver.Features{Sharing: true} }

// Drop forgets who holds key, as an operator's DEL on a server would: each
// holder learns it with its next renewal, and the first in line gets the key.
// It is there for tests of what happens when a lock is lost.
func (b *Backend) Drop(key string) {
	s := b.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.keys[key]; e != nil {
		clear(e.holders)
		e.holders = e.holders[:0]
		s.passOn(e)
	}
}

func (b *Backend) shard(key string) *shard { return &b.shards[b.shardIndex(key)] }

func (b *Backend) shardIndex(key string) uint64 { return maphash.String(b.seed, key) % shardCount }
