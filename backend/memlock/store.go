package memlock

import (
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// firstSweep is the number of keys below which a store never sweeps.
const firstSweep = 4096

// store is the keys of a Backend. Its methods are called with the mutex locked.
type store struct {
	mu      sync.Mutex
	token   uint64 // the last one issued
	keys    map[string]*entry
	sweepAt int
}

// acquire grants the key to r's owner if the owner has it already, or if the holders
// admit the request and there are no waiters. Otherwise it returns the holder.
func (s *store) acquire(r *driver.Request) (driver.Grant, error) {
	now, sharing := time.Now(), r.Sharing()
	e := s.keys[r.Key]
	if e == nil {
		e = s.insert(r.Key, now)
	}
	if e.prune(now) {
		s.advance(e, now) // the timer is late
	}
	if h := e.find(r.Owner); h != nil {
		h.extend(now.Add(r.TTL))
		s.setTimer(e, now)
		return e.grant(h, sharing, r.TTL, now), nil
	}
	if len(e.queue) > 0 || !e.admits(sharing) {
		return driver.Grant{}, e.heldError(sharing, now)
	}
	return e.grant(s.addHolder(e, r, now), sharing, r.TTL, now), nil
}

// adopt puts r's owner in the place of the owner that has handed its lease off. It reports
// whether one of them has the key.
func (s *store) adopt(r *driver.Request) bool {
	e := s.keys[r.Key]
	if e == nil {
		return false
	}
	now := time.Now()
	if h := e.find(r.From); h != nil && h.heldAt(now) {
		h.owner, h.revoked = r.Owner, nil
	}
	h := e.find(r.Owner)
	return h != nil && h.heldAt(now)
}

// addHolder makes r's owner a holder with new tokens.
func (s *store) addHolder(e *entry, r *driver.Request, now time.Time) *holder {
	n := uint64(max(r.Tokens, 1))
	s.token += n
	e.sharing = r.Sharing()
	e.holders = append(e.holders, holder{
		owner: r.Owner, expires: now.Add(r.TTL), token: s.token - n + 1, last: s.token, since: now.UnixNano(),
	})
	return &e.holders[len(e.holders)-1]
}

// renew extends a lease that has not ended. A lease that has ended is lost even if the
// key has had no other holder since, because it could have had one.
func (s *store) renew(g *driver.Grant) error {
	now := time.Now()
	e := s.keys[g.Key]
	if e == nil {
		return driver.ErrLost
	}
	h := e.find(g.Owner)
	if h == nil || !h.heldAt(now) {
		return driver.ErrLost
	}
	if end := now.Add(g.TTL); g.Retain {
		h.expires = end
	} else {
		h.extend(end)
	}
	s.setTimer(e, now)
	return nil
}

// advanceOrRemove is called when a holder or a waiter has left. It grants the key to the
// waiters that are admitted now, or removes the entry if it is empty.
func (s *store) advanceOrRemove(e *entry) {
	switch {
	case len(e.queue) > 0:
		now := time.Now()
		e.prune(now)
		s.advance(e, now)
	case len(e.holders) == 0:
		delete(s.keys, e.key)
	}
}

// advance grants the key to waiters in order of arrival, up to the first that is not
// admitted. The leases of all holders must be running.
func (s *store) advance(e *entry, now time.Time) {
	for len(e.queue) > 0 && e.admits(e.queue[0].request.Sharing()) {
		w := e.queue[0]
		e.removeWaiter(w.request.Owner)
		w.turn <- e.grant(s.addHolder(e, &w.request, now), w.request.Sharing(), w.request.TTL, now)
	}
	s.setTimer(e, now)
}

// enqueue returns the place of r's owner in the queue of the key, which is held. It is the
// old place if there is one.
func (s *store) enqueue(r *driver.Request) {
	e := s.keys[r.Key]
	w := e.waiter(r.Owner)
	if w == nil {
		now := time.Now()
		w = &waiter{since: now, turn: make(chan driver.Grant, 1)}
		e.queue = append(e.queue, w)
		s.setTimer(e, now)
	}
	w.request = *r
}

// setTimer makes the queue of e advance when the first of the leases ends. Without
// waiters it does nothing: the next request finds out.
func (s *store) setTimer(e *entry, now time.Time) {
	if len(e.queue) == 0 {
		return
	}
	left := e.firstExpiry().Sub(now)
	if e.timer != nil {
		e.timer.Reset(left)
		return
	}
	e.timer = time.AfterFunc(left, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(e.queue) > 0 {
			s.advanceOrRemove(e)
		}
	})
}

func (s *store) insert(key string, now time.Time) *entry {
	if len(s.keys) >= s.sweepAt {
		s.sweep(now)
	}
	e := &entry{key: key}
	e.holders = e.one[:0]
	s.keys[key] = e
	return e
}

// sweep removes the entries without waiters and without valid leases. It runs when the
// number of keys has doubled, so its cost per insertion is constant.
func (s *store) sweep(now time.Time) {
	for key, e := range s.keys {
		if len(e.queue) > 0 {
			continue
		}
		if e.prune(now); len(e.holders) == 0 {
			delete(s.keys, key)
		}
	}
	s.sweepAt = max(firstSweep, 2*len(s.keys))
}
