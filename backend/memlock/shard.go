package memlock

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
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
	spare    []*entry
	sweepAt  int
	_        [64]byte // keeps the next shard's mutex off this cache line
}

// claim is an owner's interest in a key.
type claim struct{ key, owner string }

// entry is a key that an owner has, or had until its lease ended and nobody has
// asked since.
type entry struct {
	key     string
	owner   string
	expires time.Time // when the owner's lease ends
	token   uint64
	last    uint64
	line    line
}

func (s *shard) init(tokens *atomic.Uint64) {
	s.tokens = tokens
	s.keys = make(map[string]*entry)
	s.places = make(map[claim]*waiter)
	s.sweepAt = firstSweep
}

// take gives the key to r's owner if that has it already, or if nobody has it
// and nobody is waiting. Otherwise it returns what is left of the lease.
func (s *shard) take(r *distlock.Request) (g distlock.Grant, left time.Duration, ok bool) {
	now := time.Now()
	e := s.keys[r.Key]
	switch {
	case e == nil:
		e = s.insert(r.Key, now)
	case !e.heldAt(now):
		if w := e.line.first; w != nil { // the timer is late
			s.serve(e, w, now)
			return s.take(r)
		}
	case e.owner == r.Owner:
		s.extend(e, r.TTL, now)
		return e.grant(r.TTL, now), 0, true
	default:
		return distlock.Grant{}, e.expires.Sub(now), false
	}
	s.give(e, r.Owner, r.TTL, r.Tokens, now)
	return e.grant(r.TTL, now), 0, true
}

// renew extends a lease that is still running. One that has ended is lost even
// if nobody has taken the key since: anybody could have.
func (s *shard) renew(g *distlock.Grant) distlock.RenewStatus {
	now := time.Now()
	e := s.keys[g.Key]
	if e == nil || e.owner != g.Owner || !e.heldAt(now) {
		return distlock.Lost
	}
	s.extend(e, g.TTL, now)
	return distlock.Renewed
}

// release reports whether g's owner has nothing to do with the key any more,
// as it wished; false means that the key was taken away from it.
func (s *shard) release(g *distlock.Grant) bool {
	e := s.keys[g.Key]
	if e == nil {
		return true
	}
	if e.owner == g.Owner {
		s.released.add(claim{g.Key, g.Owner})
		if e.line.first == nil {
			s.remove(e) // without looking at the clock
		} else {
			s.passOn(e, time.Now())
		}
		return true
	}
	c := claim{g.Key, g.Owner}
	if w := s.places[c]; w != nil {
		s.giveUp(e, w)
		return true
	}
	return s.released.has(c)
}

// give makes owner the holder, with fresh tokens.
func (s *shard) give(e *entry, owner string, ttl time.Duration, tokens int, now time.Time) {
	n := uint64(max(tokens, 1))
	e.owner = owner
	e.last = s.tokens.Add(n)
	e.token = e.last - n + 1
	s.extend(e, ttl, now)
}

func (s *shard) extend(e *entry, ttl time.Duration, now time.Time) {
	e.expires = now.Add(ttl)
	s.watch(e, now)
}

// passOn takes the key from its owner and gives it to the first who waits.
func (s *shard) passOn(e *entry, now time.Time) {
	if w := e.line.first; w != nil {
		s.serve(e, w, now)
	} else {
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
		if e.line.first == nil && !e.heldAt(now) {
			s.remove(e)
		}
	}
	s.sweepAt = max(firstSweep, 2*len(s.keys))
}

func (e *entry) heldAt(now time.Time) bool {
	return now.Before(e.expires)
}

func (e *entry) grant(ttl time.Duration, now time.Time) distlock.Grant {
	return distlock.Grant{
		Key: e.key, Owner: e.owner, TTL: ttl,
		Token: e.token, LastToken: e.last, Sent: now,
	}
}
