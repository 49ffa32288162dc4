// Package memlock is a lock backend in the memory of one process. It is for tests and
// examples, and for programs that do all their work in one process.
//
// It has the whole contract of package driver: leases expire, tokens rise, and waiters
// are served in order of arrival. A program that was tested on memlock therefore meets
// nothing new on a server. Lockers that share one [Backend] behave like processes that
// share a server.
//
// All times are from package time. In a testing/synctest bubble an hour of leases
// passes at once. A Backend has no goroutines and nothing to close.
package memlock

import (
	"context"
	"strings"
	"time"

	"github.com/distlock-go/distlock/backend/internal/recent"
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
	store

	deposed recent.Set[keyOwner] // ForceRelease has taken the key from these owners
}

// keyOwner identifies a request for a key.
type keyOwner struct{ key, owner string }

// New returns an empty Backend.
func New() *Backend {
	return &Backend{store: store{keys: make(map[string]*entry), sweepAt: firstSweep}}
}

// Features implements [driver.Backend]. All requests wait in one queue, whatever they
// ask for: a reader does not overtake a writer that waits, and readers that follow each
// other in the queue get the key together.
func (b *Backend) Features() driver.Features { return driver.Features{Sharing: true, HandOff: true} }

// TryAcquire implements [driver.Backend]. After the end of a lease the key goes to the
// first waiter before it goes to a new request.
func (b *Backend) TryAcquire(_ context.Context, r driver.Request) (driver.Grant, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.From != "" && !b.adopt(&r) {
		return driver.Grant{}, driver.ErrLost
	}
	return b.acquire(&r)
}

// Enqueue implements [driver.Queuer].
func (b *Backend) Enqueue(_ context.Context, r driver.Request) (driver.Grant, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g, err := b.acquire(&r)
	if err != nil {
		b.enqueue(&r)
	}
	return g, err
}

// Turn implements [driver.Waker]. The channel receives the grant at the moment at which the
// key becomes free for the owner. Without a place of the owner it is nil, or is closed if the
// owner was granted the key after its attempt.
func (b *Backend) Turn(_ context.Context, r driver.Request) <-chan driver.Grant {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.keys[r.Key]
	if e == nil {
		return nil
	}
	if w := e.waiter(r.Owner); w != nil {
		return w.turn
	}
	if e.find(r.Owner) == nil {
		return nil
	}
	now := make(chan driver.Grant)
	close(now)
	return now
}

// Renew implements [driver.Backend]. The outcome is always known.
func (b *Backend) Renew(_ context.Context, grants []driver.Grant, report func(int, error)) {
	for i := range grants {
		b.mu.Lock()
		err := b.renew(&grants[i])
		b.mu.Unlock()
		report(i, err)
	}
}

// Release implements [driver.Backend]. It works even if ctx has ended, because it never
// waits.
//
// The release of a lease that ended while no other owner wanted the key is not an error.
func (b *Backend) Release(_ context.Context, g driver.Grant) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := b.keys[g.Key]; {
	case e == nil && !b.deposed.Has(keyOwner{g.Key, g.Owner}):
		return nil
	case e == nil, !e.removeHolder(g.Owner) && !e.removeWaiter(g.Owner):
		return driver.ErrLost
	default:
		b.advanceOrRemove(e) // others may have waited only because of a waiter
		return nil
	}
}

// Inspect implements [driver.Inspector].
func (b *Backend) Inspect(_ context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	var found []driver.KeyInfo
	add := func(e *entry) {
		if info := e.inspect(now); len(found) < max(limit, 1) && info.Held+info.Waiting > 0 {
			found = append(found, info)
		}
	}
	if e := b.keys[prefix]; e != nil {
		add(e)
	}
	if limit == 0 {
		return found, nil
	}
	for key, e := range b.keys {
		if key != prefix && strings.HasPrefix(key, prefix) {
			add(e)
		}
	}
	return found, nil
}

// ForceRelease implements [driver.Inspector]. The waiters that are next have the key
// when it returns. The Backend remembers a bounded number of former holders: one that it
// has forgotten gets no error when it releases a key without a later owner.
func (b *Backend) ForceRelease(_ context.Context, key string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.keys[key]
	if e == nil {
		return false, nil
	}
	e.prune(time.Now())
	for i := range e.holders {
		b.deposed.Add(keyOwner{key, e.holders[i].owner})
	}
	held := len(e.holders) > 0
	e.holders = nil
	b.advanceOrRemove(e)
	return held, nil
}

// Revoke implements [driver.Revoker]. No request is lost: a holder that listens later is
// told at once.
func (b *Backend) Revoke(_ context.Context, key string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.keys[key]
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
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.keys[g.Key]; e != nil {
		if h := e.find(g.Owner); h != nil {
			return h.revocation()
		}
	}
	return nil
}

// Drop makes the store forget the holders of key, as a DEL by an operator does on a
// server: each holder learns of it from its next renewal, and the first waiter gets the
// key. It is for tests of what happens when a lock is lost.
func (b *Backend) Drop(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.keys[key]; e != nil {
		e.holders = nil
		b.advanceOrRemove(e)
	}
}

// Ping implements [driver.Pinger]. Memory always answers.
func (b *Backend) Ping(context.Context) error { return nil }
