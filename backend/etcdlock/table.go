package etcdlock

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// table has the tickets of a Backend.
type table struct {
	backend *Backend

	mu         sync.Mutex
	tickets    map[ticketID]*ticket
	held       map[string]*ticket // by path of the place
	number     uint64             // of the last ticket
	unanswered recentIDs          // of the releases without an answer
}

// getOrAdd returns the ticket of the request's owner. If there is none, it adds one. The
// ticket of a queued request is kept while another owner has the key.
func (t *table) getOrAdd(r *driver.Request, queued bool) (*ticket, error) {
	id := ticketID{r.Key, r.Owner}
	t.mu.Lock()
	defer t.mu.Unlock()
	tk := t.tickets[id]
	switch {
	case tk == nil:
		t.number++
		tk = &ticket{id: id, sharing: r.Sharing(), number: strconv.FormatUint(t.number, 16), gone: make(chan struct{})}
		t.tickets[id] = tk
	case tk.sharing != r.Sharing():
		return nil, fmt.Errorf("etcdlock: the owner has asked for %q before", valueOf(tk.sharing))
	}
	tk.queued = tk.queued || queued
	return tk, nil
}

// bind makes sure that the ticket's place belongs to s. It returns the path of the place,
// and the revision that has created it, or 0 if it is not known to exist.
func (t *table) bind(tk *ticket, s *session) (path string, created int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tk.session != s {
		t.clearHeld(tk)
		tk.session, tk.created, tk.doubt = s, 0, 0 // the place has ended with its session
		tk.path = t.backend.dir(tk.id.key) + strconv.FormatInt(int64(s.id), 16) + "." + tk.number + "/" + tk.id.owner
	}
	return tk.path, tk.created
}

// setDoubt records that a request for a place has an unknown outcome.
func (t *table) setDoubt(tk *ticket, path string, s *session, fence int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tk.session != s {
		return
	}
	if tk.doubt = fence; tk.isGone() {
		t.backend.sweeper.add(path, leftover{s, fence})
	}
}

// setCreated records the revision that has created the place, or 0 if it was deleted. It
// returns false if the ticket was removed before.
func (t *table) setCreated(tk *ticket, path string, s *session, created int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tk.isGone() {
		if created != 0 {
			t.backend.sweeper.add(path, leftover{session: s})
		}
		return false
	}
	if tk.session == s {
		if tk.created = created; created == 0 {
			t.clearHeld(tk)
		}
	}
	return true
}

// setHeld records that the owner of tk has the key under the terms of g, with the tokens
// of an earlier grant if it has the key already. It returns false if the ticket was
// removed before.
func (t *table) setHeld(tk *ticket, s *session, g *driver.Grant) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tk.isGone() || tk.session != s {
		return false
	}
	tk.queued = false
	left := g.TTL - time.Since(g.Sent)
	if tk.held {
		g.Token, g.LastToken = tk.grant.Token, tk.grant.LastToken
		tk.timer.Reset(left)
	} else {
		tk.held, tk.since = true, g.Sent
		tk.timer = time.AfterFunc(left, func() { t.expire(tk) })
		t.held[tk.path] = tk
	}
	tk.grant = *g
	return true
}

// expire ends the lease of tk if it was not renewed.
func (t *table) expire(tk *ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tk.held && tk.expired(time.Now()) {
		t.drop(tk)
	}
}

// lock is a copy of what the table knows about a lock that is held.
type lock struct {
	ticket  *ticket
	session *session
	path    string
	created int64
	since   time.Time
	grant   driver.Grant
}

func (tk *ticket) lock() lock {
	return lock{tk, tk.session, tk.path, tk.created, tk.since, tk.grant}
}

// heldBy returns the lock that the owner has. It returns false if it has none or the lease
// has ended.
func (t *table) heldBy(id ticketID) (lock, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tk := t.tickets[id]
	if tk == nil || !tk.held || tk.expired(time.Now()) {
		return lock{}, false
	}
	return tk.lock(), true
}

// heldAt returns the lock with the place at path. It returns false if this process has
// none.
func (t *table) heldAt(path string) (lock, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tk := t.held[path]
	if tk == nil {
		return lock{}, false
	}
	return tk.lock(), true
}

// extend records that g was confirmed, which extends the lease of tk. It returns false if
// the lease has ended before.
func (t *table) extend(tk *ticket, g driver.Grant) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !tk.held || tk.expired(time.Now()) {
		return false
	}
	tk.grant = g
	tk.timer.Reset(g.TTL - time.Since(g.Sent))
	return true
}

// remove removes a ticket, and has its place deleted. With unqueued it keeps a ticket that
// waits or is held.
func (t *table) remove(tk *ticket, unqueued bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !tk.isGone() && !(unqueued && (tk.queued || tk.held)) {
		t.drop(tk)
	}
}

// drop removes a ticket. Its place is deleted if it exists or may exist.
func (t *table) drop(tk *ticket) {
	t.take(tk)
	if tk.created != 0 || tk.doubt != 0 {
		t.backend.sweeper.add(tk.path, leftover{tk.session, tk.doubt})
	}
}

// take removes a ticket, the place of which the caller deletes.
func (t *table) take(tk *ticket) {
	t.clearHeld(tk)
	delete(t.tickets, tk.id)
	close(tk.gone)
}

func (t *table) clearHeld(tk *ticket) {
	if tk.held {
		tk.held = false
		tk.timer.Stop()
		delete(t.held, tk.path)
	}
}

// release removes the ticket of an owner that gives up the key. It returns the place to
// delete, and whether the owner had the key. It returns false if the owner has no ticket.
func (t *table) release(id ticketID) (path string, l leftover, wasHeld, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tk := t.tickets[id]
	if tk == nil {
		return "", leftover{}, false, false
	}
	wasHeld = tk.held
	t.take(tk)
	if tk.created == 0 && tk.doubt == 0 {
		return "", leftover{}, false, true
	}
	return tk.path, leftover{tk.session, tk.doubt}, wasHeld, true
}

// setUnanswered remembers for some time that a release had no answer.
func (t *table) setUnanswered(id ticketID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unanswered.add(id)
}

func (t *table) wasUnanswered(id ticketID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unanswered.has(id)
}

// stopTimers stops the timers of all leases.
func (t *table) stopTimers() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tk := range t.held {
		tk.timer.Stop()
	}
}
