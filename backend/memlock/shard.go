package memlock

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock/driver"
)

const (
	// shardCount divides the keys among mutexes. The clock is read inside, so
	// that leases are set in the order of the clock; that alone is 40 ns.
	shardCount = 16

	// spareEntries bounds the entries kept for reuse in each shard.
	spareEntries = 64

	// firstSweep is the number of keys in a shard that is not worth a sweep.
	firstSweep = 256
)

// shard holds the keys of one part of the key space.
type shard struct {
	mu       sync.Mutex
	tokens   *atomic.Uint64
	keys     map[string]*entry
	places   map[claim]*waiter // everybody who stands in a line
	released memory
	deposed  memory // those whom ForceRelease has taken a key from
	spare    []*entry
	sweepAt  int
	_        [64]byte // keeps the next shard's mutex off this cache line
}

// claim is an owner's interest in a key.
type claim struct{ key, owner string }

func (s *shard) init(tokens *atomic.Uint64) {
	s.tokens = tokens
	s.keys = make(map[string]*entry)
	s.places = make(map[claim]*waiter)
	s.sweepAt = firstSweep
}

// take gives the key to r's owner if that has it already, or if those who have it
// leave room for it and nobody is waiting. Otherwise it returns the holder.
func (s *shard) take(r *driver.Request, now time.Time) (driver.Grant, *driver.HeldError) {
	k := kindOf(r)
	e, held := s.look(r, now)
	if held != nil {
		return driver.Grant{}, held
	}
	if e == nil {
		e = s.insert(r.Key, now)
	} else if i := e.find(r.Owner); i >= 0 {
		e.holders[i].expires = now.Add(r.TTL)
		s.watch(e, now)
		return e.holders[i].grant(e, k, r.TTL, now), nil
	}
	return s.give(e, r.Owner, k, r.TTL, r.Tokens, now).grant(e, k, r.TTL, now), nil
}

// look returns the entry of the key if r's owner can take it, and otherwise the
// holder.
func (s *shard) look(r *driver.Request, now time.Time) (*entry, *driver.HeldError) {
	e := s.keys[r.Key]
	if e == nil {
		return nil, nil
	}
	if e.prune(now) {
		s.advance(e, now) // the timer is late
	}
	if k := kindOf(r); e.find(r.Owner) < 0 && (e.line.first != nil || !e.fits(k)) {
		held := e.held(k, now)
		return e, held
	}
	return e, nil
}

// renew extends a lease that is still running. One that has ended is lost even
// if nobody has taken the key since: anybody could have.
func (s *shard) renew(g *driver.Grant) driver.RenewStatus {
	now := time.Now()
	e := s.keys[g.Key]
	if e == nil {
		return driver.Lost
	}
	i := e.find(g.Owner)
	if i < 0 || !e.holders[i].heldAt(now) {
		return driver.Lost
	}
	e.holders[i].expires = now.Add(g.TTL)
	s.watch(e, now)
	return driver.Renewed
}

// release reports whether g's owner has nothing to do with the key any more,
// as it wished; false means that the key was taken away from it.
func (s *shard) release(g *driver.Grant) bool {
	e := s.keys[g.Key]
	c := claim{g.Key, g.Owner}
	if e == nil {
		return !s.deposed.has(c)
	}
	if i := e.find(g.Owner); i >= 0 {
		s.released.add(c)
		e.holders = slices.Delete(e.holders, i, i+1)
		s.passOn(e)
		return true
	}
	if w := s.places[c]; w != nil {
		s.giveUp(e, w)
		s.passOn(e) // to those who waited because w did
		return true
	}
	return s.released.has(c)
}

// give makes owner a holder, with fresh tokens.
func (s *shard) give(e *entry, owner string, k kind, ttl time.Duration, tokens int, now time.Time) *holder {
	n := uint64(max(tokens, 1))
	last := s.tokens.Add(n)
	e.kind = k
	e.holders = append(e.holders, holder{
		owner: owner, expires: now.Add(ttl), token: last - n + 1, last: last, since: now.UnixNano(),
	})
	return &e.holders[len(e.holders)-1]
}

// passOn gives the key to those who wait and need not any more, after somebody has
// left.
func (s *shard) passOn(e *entry) {
	switch {
	case e.line.first != nil:
		now := time.Now()
		e.prune(now)
		s.advance(e, now)
	case len(e.holders) == 0: // without looking at the clock
		s.remove(e)
	}
}

func (s *shard) insert(key string, now time.Time) *entry {
	if len(s.keys) >= s.sweepAt {
		s.sweep(now)
	}
	var e *entry
	if n := len(s.spare); n > 0 {
		e, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		e = new(entry)
	}
	e.key = key
	e.holders = e.one[:0]
	s.keys[key] = e
	return e
}

func (s *shard) remove(e *entry) {
	delete(s.keys, e.key)
	*e = entry{}
	if len(s.spare) < spareEntries {
		s.spare = append(s.spare, e)
	}
}

// sweep removes the leases that ended without a release and that nobody has
// asked for since. It runs when the number of keys has doubled, so it costs
// each insertion a constant.
func (s *shard) sweep(now time.Time) {
	for _, e := range s.keys {
		if e.line.first != nil {
			continue
		}
		if e.prune(now); len(e.holders) == 0 {
			s.remove(e)
		}
	}
	s.sweepAt = max(firstSweep, 2*len(s.keys))
}
