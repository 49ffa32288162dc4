package zklock

import (
	"sync"
	"time"

	"github.com/distlock-go/distlock/backend/internal/recent"
	"github.com/distlock-go/distlock/driver"
)

// table contains the tickets of a Backend's owners, which of them have the key, and until
// when. ZooKeeper knows no leases: the table ends a lease that is not renewed.
type table struct {
	onExpiry func(tk *ticket) // called for each lease that has ended, without the mutex

	mu       sync.Mutex
	tickets  map[ticketID]*ticket
	holders  map[string]*ticket   // by path of the node
	releases recent.Set[ticketID] // those without an answer
}

func newTable(onExpiry func(tk *ticket)) *table {
	return &table{onExpiry: onExpiry, tickets: make(map[ticketID]*ticket), holders: make(map[string]*ticket)}
}

// getOrAdd returns the ticket with the ID. If there is none, it adds the one that
// newTicket returns.
func (t *table) getOrAdd(id ticketID, queued bool, newTicket func() *ticket) *ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	tk := t.tickets[id]
	if tk == nil {
		tk = newTicket()
		t.tickets[id] = tk
	}
	tk.queued = tk.queued || queued
	return tk
}

// release removes a ticket. It returns nil if there is no such ticket.
func (t *table) release(id ticketID) (tk *ticket, wasHeld bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tk = t.tickets[id]; tk == nil {
		return nil, false
	}
	wasHeld = tk.held
	t.drop(tk)
	return tk, wasHeld
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

// remove removes a ticket. It returns false if the ticket was removed before. With unqueued
// it keeps a ticket that waits or is held.
func (t *table) remove(tk *ticket, unqueued bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tk.isGone() || unqueued && (tk.queued || tk.held) {
		return false
	}
	t.drop(tk)
	return true
}

func (t *table) drop(tk *ticket) {
	t.clearHeld(tk)
	delete(t.tickets, tk.id)
	close(tk.gone)
}

func (t *table) clearHeld(tk *ticket) {
	if tk.held {
		tk.held = false
		tk.timer.Stop()
		delete(t.holders, tk.heldNode)
	}
}

// setLost records that the owner of tk no longer has the key. The ticket stays.
func (t *table) setLost(tk *ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clearHeld(tk)
}

// setHeld records that the owner of tk has the key under the terms of g, with the tokens of
// an earlier grant if it has the key already. It returns false if the ticket was removed
// before.
func (t *table) setHeld(tk *ticket, g *driver.Grant) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tk.isGone() {
		return false
	}
	tk.queued = false
	if tk.held && tk.heldNode == tk.node {
		g.Token, g.LastToken = tk.grant.Token, tk.grant.LastToken
		tk.extend(*g)
		return true
	}
	t.clearHeld(tk)
	tk.held, tk.since, tk.grant, tk.heldNode, tk.heldSession, tk.version = true, g.Sent, *g, tk.node, tk.session, 0
	tk.timer = time.AfterFunc(time.Until(tk.end()), func() { t.expire(tk) })
	t.holders[tk.heldNode] = tk
	return true
}

// expire ends the lease of tk if it was not renewed.
func (t *table) expire(tk *ticket) {
	t.mu.Lock()
	ended := tk.held && tk.expired(time.Now())
	if ended {
		t.drop(tk)
	}
	t.mu.Unlock()
	if ended {
		t.onExpiry(tk)
	}
}

// heldLock is a copy of what the table knows about a lock that is held.
type heldLock struct {
	ticket  *ticket
	grant   driver.Grant
	since   time.Time
	node    string
	session *session
	version int32
}

func (tk *ticket) heldLock() heldLock {
	return heldLock{tk, tk.grant, tk.since, tk.heldNode, tk.heldSession, tk.version}
}

// heldBy returns the lock that the owner has. It returns false if it has none or the lease
// has ended.
func (t *table) heldBy(id ticketID) (heldLock, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tk := t.tickets[id]
	if tk == nil || !tk.held || tk.expired(time.Now()) {
		return heldLock{}, false
	}
	return tk.heldLock(), true
}

// heldAt returns the lock with the node at path. It returns false if this process has none.
func (t *table) heldAt(path string) (heldLock, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tk := t.holders[path]
	if tk == nil {
		return heldLock{}, false
	}
	return tk.heldLock(), true
}

// extend records that g was confirmed, which extends the lease of tk, and the version of the
// node's data. It returns false if the lease has ended before.
func (t *table) extend(tk *ticket, g driver.Grant, version int32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !tk.held || tk.expired(time.Now()) {
		return false
	}
	tk.version = max(tk.version, version)
	tk.extend(g)
	return true
}

// stopTimers stops the timers of all leases.
func (t *table) stopTimers() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tk := range t.holders {
		tk.timer.Stop()
	}
}
