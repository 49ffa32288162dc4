package memlock

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock/driver"
)

const (
	// shardCount divides the keys among mutexes. A shard reads the clock with its mutex
	// locked, so that leases are set in the order of the clock; that alone takes 40 ns.
	shardCount = 16

	// spareEntries is how many entries each shard keeps for reuse.
	spareEntries = 64

	// firstSweep is the number of keys in a shard below which it never sweeps.
	firstSweep = 256
)

// shard contains a part of the keys. Except for inspect, stopWaiting and the timer, its
// methods are called with the mutex locked.
type shard struct {
	mu       sync.Mutex
	tokens   *atomic.Uint64
	keys     map[string]*entry
	waiters  map[keyOwner]*waiter
	released history
	deposed  history // owners that ForceRelease has taken a key from
	spare    []*entry
	sweepAt  int
	_        [64]byte // keeps the next shard's mutex off this cache line
}

// keyOwner identifies a request for a key.
type keyOwner struct{ key, owner string }

func (s *shard) init(tokens *atomic.Uint64) {
	s.tokens = tokens
	s.keys = make(map[string]*entry)
	s.waiters = make(map[keyOwner]*waiter)
	s.sweepAt = firstSweep
}

// acquire grants the key to r's owner if the owner has it already, or if the holders
// admit the request and there are no waiters. Otherwise it returns the holder.
func (s *shard) acquire(r *driver.Request, now time.Time) (driver.Grant, *driver.HeldError) {
	sharing := r.Sharing()
	e, held := s.check(r, now)
	if held != nil {
		return driver.Grant{}, held
	}
	if e == nil {
		e = s.insert(r.Key, now)
	} else if i := e.find(r.Owner); i >= 0 {
		e.holders[i].extend(now.Add(r.TTL))
		s.setTimer(e, now)
		return e.grant(&e.holders[i], sharing, r.TTL, now), nil
	}
	h := s.addHolder(e, r.Owner, sharing, r.TTL, r.Tokens, now)
	return e.grant(h, sharing, r.TTL, now), nil
}

// check returns the entry of the key, or nil if there is none, if acquire can grant r.
// Otherwise it returns the holder.
func (s *shard) check(r *driver.Request, now time.Time) (*entry, *driver.HeldError) {
	e := s.keys[r.Key]
	if e == nil {
		return nil, nil
	}
	if e.prune(now) {
		s.advance(e, now) // the timer is late
	}
	if sharing := r.Sharing(); e.find(r.Owner) < 0 && (e.queue.first != nil || !e.admits(sharing)) {
		held := e.heldError(sharing, now)
		return e, held
	}
	return e, nil
}

// addHolder makes owner a holder with new tokens.
func (s *shard) addHolder(e *entry, owner string, sharing driver.Sharing, ttl time.Duration, tokens int, now time.Time) *holder {
	n := uint64(max(tokens, 1))
	last := s.tokens.Add(n)
	e.sharing = sharing
	e.holders = append(e.holders, holder{
		owner: owner, expires: now.Add(ttl), token: last - n + 1, last: last, since: now.UnixNano(),
	})
	return &e.holders[len(e.holders)-1]
}

// renew extends a lease that has not ended. A lease that has ended is lost even if the
// key has had no other holder since, because it could have had one.
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
	if end := now.Add(g.TTL); g.Retain {
		e.holders[i].expires = end
	} else {
		e.holders[i].extend(end)
	}
	s.setTimer(e, now)
	return driver.Renewed
}

// release takes the key, or the place in the queue, from g's owner. It returns false if
// the key was taken from the owner before.
func (s *shard) release(g *driver.Grant) bool {
	e := s.keys[g.Key]
	ko := keyOwner{g.Key, g.Owner}
	if e == nil {
		return !s.deposed.has(ko)
	}
	if i := e.find(g.Owner); i >= 0 {
		s.released.add(ko)
		e.holders = slices.Delete(e.holders, i, i+1)
		s.advanceOrRemove(e)
		return true
	}
	if w := s.waiters[ko]; w != nil {
		e.queue.remove(w)
		delete(s.waiters, ko)
		w.err = errReleased
		close(w.done)
		s.advanceOrRemove(e) // others may have waited only because of w
		return true
	}
	return s.released.has(ko)
}

// drop takes the key from all holders.
func (s *shard) drop(e *entry) {
	clear(e.holders)
	e.holders = e.holders[:0]
	s.advanceOrRemove(e)
}

// enqueue returns the place of r's owner in the queue of e. It is the old place if there
// is one.
func (s *shard) enqueue(e *entry, r *driver.Request) *waiter {
	ko := keyOwner{r.Key, r.Owner}
	w := s.waiters[ko]
	if w == nil {
		w = &waiter{owner: r.Owner, done: make(chan struct{})}
		s.waiters[ko] = w
		e.queue.append(w)
		s.setTimer(e, time.Now())
	}
	w.sharing, w.ttl, w.tokens = r.Sharing(), r.TTL, r.Tokens
	return w
}

// stopWaiting ends one Acquire because the key is held and, unless it is nil, because of
// cause. The place in the queue stays.
func (s *shard) stopWaiting(e *entry, w *waiter, cause error) (driver.Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.done: // e may belong to another key by now
		return w.grant, w.err
	default:
	}
	held := e.heldError(w.sharing, time.Now())
	if cause == nil {
		return driver.Grant{}, held
	}
	return driver.Grant{}, fmt.Errorf("%w: %w", held, cause)
}

// advanceOrRemove is called when a holder or a waiter has left. It grants the key to the
// waiters that are admitted now, or removes the entry if it is empty.
func (s *shard) advanceOrRemove(e *entry) {
	switch {
	case e.queue.first != nil:
		now := time.Now()
		e.prune(now)
		s.advance(e, now)
	case len(e.holders) == 0: // without reading the clock
		s.remove(e)
	}
}

// advance grants the key to waiters in order of arrival, up to the first that is not
// admitted. The leases of all holders must be running.
func (s *shard) advance(e *entry, now time.Time) {
	var granted *waiter // linked by next
	for w := e.queue.first; w != nil && e.admits(w.sharing); w = e.queue.first {
		e.queue.remove(w)
		delete(s.waiters, keyOwner{e.key, w.owner})
		h := s.addHolder(e, w.owner, w.sharing, w.ttl, w.tokens, now)
		w.grant = e.grant(h, w.sharing, w.ttl, now)
		w.next, granted = granted, w
	}
	s.setTimer(e, now)
	for w := granted; w != nil; {
		next := w.next
		w.next = nil
		w.grant.Contended = e.queue.first != nil
		close(w.done)
		w = next
	}
}

// setTimer makes the queue of e advance when the first of the leases ends. Without
// waiters it does nothing: the next request finds out.
func (s *shard) setTimer(e *entry, now time.Time) {
	q := &e.queue
	if q.first == nil {
		return
	}
	left := e.firstExpiry().Sub(now)
	if q.timer != nil {
		q.timer.Reset(left)
		return
	}
	key := e.key
	var timer *time.Timer
	timer = time.AfterFunc(left, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		// The entry may belong to another key by the time that the mutex is locked.
		// The timer tells.
		e := s.keys[key]
		if e == nil || e.queue.timer != timer {
			return
		}
		now := time.Now()
		e.prune(now)
		s.advance(e, now)
	})
	q.timer = timer
}

// insert adds an entry for the key.
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

// remove removes an entry that has neither holders nor waiters.
func (s *shard) remove(e *entry) {
	delete(s.keys, e.key)
	*e = entry{}
	if len(s.spare) < spareEntries {
		s.spare = append(s.spare, e)
	}
}

// sweep removes the entries without waiters and without valid leases. It runs when the
// number of keys has doubled, so its cost per insertion is constant.
func (s *shard) sweep(now time.Time) {
	for _, e := range s.keys {
		if e.queue.first != nil {
			continue
		}
		if e.prune(now); len(e.holders) == 0 {
			s.remove(e)
		}
	}
	s.sweepAt = max(firstSweep, 2*len(s.keys))
}

// inspectKey returns the key if it is in use.
func (s *shard) inspectKey(key string) []driver.KeyInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.keys[key]
	if e == nil {
		return nil
	}
	info := e.inspect(time.Now())
	if info.Held+info.Waiting == 0 {
		return nil
	}
	return []driver.KeyInfo{info}
}

// inspect appends the shard's keys that are longer than the prefix to found, up to the
// limit.
func (s *shard) inspect(prefix string, limit int, found []driver.KeyInfo) []driver.KeyInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for key, e := range s.keys {
		if len(found) >= limit {
			break
		}
		if len(key) == len(prefix) || !strings.HasPrefix(key, prefix) {
			continue
		}
		if info := e.inspect(now); info.Held+info.Waiting > 0 {
			found = append(found, info)
		}
	}
	return found
}
