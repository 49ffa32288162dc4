package etcdlock

import (
	"fmt"
	"sync"
	"time"

	"github.com/distlock-go/distlock/backend/internal/recent"
	"github.com/distlock-go/distlock/driver"
)

// table has the tickets of a Backend.
type table struct {
	backend *Backend

	mu       sync.Mutex
	tickets  map[ticketID]*ticket
	held     map[string]*ticket   // by path of the place
	slots    map[string]*slots    // by key
	releases recent.Set[ticketID] // those without an answer
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
		tk = &ticket{id: id, sharing: r.Sharing(), slot: t.takeSlot(r.Key), gone: make(chan struct{})}
		t.tickets[id] = tk
	case tk.sharing != r.Sharing():
		return nil, fmt.Errorf("etcdlock: the owner has asked for a lock that is %s before", kindOf(tk.sharing))
	}
	tk.queued = tk.queued || queued
	return tk, nil
}

// begin begins an attempt in session s, after which the caller has to call answered or
// unanswered. It returns the path of the ticket's place, and the revision that has created
// the place, or 0 if it is not known to exist. It returns false if the ticket was removed.
func (t *table) begin(tk *ticket, s *session) (path string, created int64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tk.isGone() {
		return "", 0, false
	}
	if tk.session != s {
		t.clearHeld(tk) // the place has ended with its session
		tk.session, tk.created, tk.inFlight, tk.doubt = s, 0, 0, 0
		tk.path = fmt.Sprintf("%s%x.%x.%x", t.backend.dir(tk.id.key), int64(s.id), s.fence.Load(), tk.slot)
	}
	tk.inFlight++
	return tk.path, tk.created, true
}

// answered ends an attempt. It records the revision that has created the place, or 0 if
// the place is not known to exist.
func (t *table) answered(tk *ticket, s *session, created int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tk.session == s {
		tk.inFlight--
		tk.created = max(tk.created, created)
	}
}

// unanswered ends an attempt that has sent a request for the place, with an unknown
// outcome.
func (t *table) unanswered(tk *ticket, s *session, fence int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tk.session == s {
		tk.inFlight--
		tk.doubt = max(tk.doubt, fence)
	}
}

// setDeleted records that the place was deleted.
func (t *table) setDeleted(tk *ticket, s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tk.session == s {
		t.clearHeld(tk)
		tk.created = 0
	}
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
	if tk.held {
		g.Token, g.LastToken = tk.grant.Token, tk.grant.LastToken
		tk.extend(*g)
		return true
	}
	tk.held, tk.since, tk.grant = true, g.Sent, *g
	tk.timer = time.AfterFunc(time.Until(tk.end()), func() { t.expire(tk) })
	t.held[tk.path] = tk
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
	tk.extend(g)
	return true
}

// remove removes a ticket, and has its place deleted. With unqueued it keeps a ticket that
// waits or is held.
func (t *table) remove(tk *ticket, unqueued bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := unqueued && (tk.queued || tk.held)
	if !tk.isGone() && !kept {
		t.drop(tk)
	}
}

// drop removes a ticket, and has its place deleted.
func (t *table) drop(tk *ticket) {
	if l, ok := t.take(tk); ok {
		t.backend.sweeper.add(l)
	}
}

// take removes a ticket. It returns its place for the caller to delete, or false if the
// place does not exist.
func (t *table) take(tk *ticket) (leftover, bool) {
	t.clearHeld(tk)
	delete(t.tickets, tk.id)
	close(tk.gone)
	if tk.created == 0 && tk.doubt == 0 && tk.inFlight == 0 {
		t.putSlot(tk.id.key, tk.slot)
		return leftover{}, false
	}
	l := leftover{path: tk.path, session: tk.session, doubt: tk.doubt, key: tk.id.key, slot: tk.slot}
	if tk.inFlight > 0 {
		l.doubt = l.session.fence.Load()
	}
	return l, true
}

// deleted gives up the slots of places, the deletion of which is confirmed.
func (t *table) deleted(places ...leftover) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range places {
		t.putSlot(l.key, l.slot)
	}
}

func (t *table) clearHeld(tk *ticket) {
	if tk.held {
		tk.held = false
		tk.timer.Stop()
		delete(t.held, tk.path)
	}
}

// release removes the ticket of an owner that gives up the key. It returns false if the
// owner has none. Otherwise it returns the place, with an empty path if the place does not
// exist, and whether the owner had the key.
func (t *table) release(id ticketID) (l leftover, wasHeld, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tk := t.tickets[id]
	if tk == nil {
		return leftover{}, false, false
	}
	wasHeld = tk.held
	l, _ = t.take(tk)
	return l, wasHeld, true
}

// setUnanswered remembers for some time that a release had no answer.
func (t *table) setUnanswered(id ticketID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.releases.Add(id)
}

func (t *table) wasUnanswered(id ticketID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.releases.Has(id)
}

// stopTimers stops the timers of all leases.
func (t *table) stopTimers() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tk := range t.held {
		tk.timer.Stop()
	}
}
