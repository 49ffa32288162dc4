package memlock

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var (
	_ driver.Backend   = (*Backend)(nil)
	_ driver.Queuer    = (*Backend)(nil)
	_ driver.Inspector = (*Backend)(nil)
	_ driver.Pinger    = (*Backend)(nil)
	_ driver.Revoker   = (*Backend)(nil)
)

// Backend is a store of locks in memory. It is safe for concurrent use. Make one with
// [New].
//
// Its tokens count from 1 over all keys, so they rise for each key without a counter
// per key. They start again with the process: a resource that checks tokens and outlives
// the process needs a backend that outlives it too.
type Backend struct {
	tokens atomic.Uint64 // the last one issued
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

func (b *Backend) shard(key string) *shard { return &b.shards[b.shardIndex(key)] }

func (b *Backend) shardIndex(key string) uint64 { return maphash.String(b.seed, key) % shardCount }

// Features implements [driver.Backend]. All requests wait in one queue, whatever they
// ask for: a reader does not overtake a writer that waits, and readers that follow each
// other in the queue get the key together.
func (b *Backend) Features() driver.Features { return driver.Features{Sharing: true} }

// TryAcquire implements [driver.Backend]. After the end of a lease the key goes to the
// first waiter before it goes to a new request.
func (b *Backend) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, err
	}
	s := b.shard(r.Key)
	s.mu.Lock()
	g, held := s.acquire(&r, time.Now())
	s.mu.Unlock()
	if held != nil {
		return driver.Grant{}, held
	}
	return g, nil
}

// Acquire implements [driver.Queuer]. If the key is granted at the moment at which ctx
// ends, the grant wins. With a nil r.Backoff it never gives up.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, err
	}
	s := b.shard(r.Key)
	s.mu.Lock()
	g, held := s.acquire(&r, time.Now())
	if held == nil {
		s.mu.Unlock()
		return g, nil
	}
	var due <-chan time.Time
	var timer *time.Timer
	if r.Backoff != nil {
		d, ok := r.Backoff.Wait()
		if !ok {
			s.mu.Unlock()
			return driver.Grant{}, held
		}
		timer = time.NewTimer(d)
		defer timer.Stop()
		due = timer.C
	}
	e := s.keys[r.Key]
	w := s.enqueue(e, &r)
	s.mu.Unlock()

	for {
		select {
		case <-w.done:
			return w.grant, w.err
		case <-ctx.Done():
			return s.stopWaiting(e, w, ctx.Err())
		case <-due:
			// No wake-up is ever missed here, so another attempt would find nothing
			// new. The budget decides only how long to wait.
			d, ok := r.Backoff.Wait()
			if !ok {
				return s.stopWaiting(e, w, nil)
			}
			timer.Reset(d)
		}
	}
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

// Release implements [driver.Backend]. It works even if ctx has ended, because it never
// waits.
//
// The release of a lease that ended while no other owner wanted the key is not an error.
// The Backend remembers a bounded number of past releases: to repeat one of these is not
// an error either, even if another owner has the key by then.
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

// Inspect implements [driver.Inspector]. It reads one part of the keys after the other,
// and blocks other calls only for the part that it reads.
func (b *Backend) Inspect(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
	found := b.shard(prefix).inspectKey(prefix)
	var err error
	for i := range b.shards {
		if err = ctx.Err(); err != nil || len(found) >= limit {
			break
		}
		found = b.shards[i].inspect(prefix, limit, found)
	}
	slices.SortFunc(found, func(a, b driver.KeyInfo) int { return strings.Compare(a.Key, b.Key) })
	return found, err
}

// ForceRelease implements [driver.Inspector]. The waiters that are next have the key
// when it returns. The Backend remembers a bounded number of former holders: one that it
// has forgotten gets no error when it releases a key without a later owner.
func (b *Backend) ForceRelease(ctx context.Context, key string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s := b.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.keys[key]
	if e == nil {
		return false, nil
	}
	e.prune(time.Now())
	held := len(e.holders) > 0
	for i := range e.holders {
		s.deposed.add(keyOwner{key, e.holders[i].owner})
	}
	s.drop(e)
	return held, nil
}

// Revoke implements [driver.Revoker]. No request is lost: a holder that listens later is
// told at once.
func (b *Backend) Revoke(ctx context.Context, key string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s := b.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.keys[key]
	if e == nil {
		return false, nil
	}
	e.prune(time.Now())
	for i := range e.holders {
		e.holders[i].revoke()
	}
	return len(e.holders) > 0, nil
}

// Revoked implements [driver.Revoker].
func (b *Backend) Revoked(_ context.Context, g driver.Grant) <-chan struct{} {
	s := b.shard(g.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.keys[g.Key]; e != nil {
		if i := e.find(g.Owner); i >= 0 {
			return e.holders[i].revocation()
		}
	}
	return nil
}

// Drop makes the store forget the holders of key, as a DEL by an operator does on a
// server: each holder learns of it from its next renewal, and the first waiter gets the
// key. It is for tests of what happens when a lock is lost.
func (b *Backend) Drop(key string) {
	s := b.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.keys[key]; e != nil {
		s.drop(e)
	}
}

// Ping implements [driver.Pinger]. Memory always answers.
func (b *Backend) Ping(ctx context.Context) error { return ctx.Err() }
