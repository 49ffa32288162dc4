package zklock

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/backend/internal/recent"
	"github.com/distlock-go/distlock/driver"
)

// table contains the tickets of a Backend's owners, which of them have the key, and until
// when. ZooKeeper knows no leases: the table ends a lease that is not renewed.
type table struct {
	onExpiry func(tk *ticket) // called for each lease that has ended, without the mutex
	wake     chan struct{}    // the first expiry may have changed

	mu       sync.Mutex
	tickets  map[ticketID]*ticket
	holders  map[string][]*ticket // by key, the holders in this process
	expiries expiries
	released recent.Set[ticketID]
}

func newTable(onExpiry func(tk *ticket)) *table {
	return &table{
		onExpiry: onExpiry, wake: make(chan struct{}, 1),
		tickets: make(map[ticketID]*ticket), holders: make(map[string][]*ticket),
	}
}

// getOrAdd returns the ticket with the ID. If there is none, it adds the one that
// newTicket returns. It returns nil if the ticket was released before.
func (t *table) getOrAdd(id ticketID, queued bool, newTicket func() *ticket) *ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	tk := t.tickets[id]
	if tk == nil {
		if t.released.Has(id) {
			return nil
		}
		tk = newTicket()
		t.tickets[id] = tk
	}
	tk.queued = tk.queued || queued
	return tk
}

// heldByOther reports whether an owner in this process has the key, and id has no ticket.
func (t *table) heldByOther(id ticketID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.holders[id.key]) > 0 && t.tickets[id] == nil
}

// release removes a ticket and remembers for some time that it was released. It returns
// nil if there is no such ticket.
func (t *table) release(id ticketID) (tk *ticket, wasHeld bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tk = t.tickets[id]; tk == nil {
		return nil, false
	}
	t.released.Add(id)
	wasHeld = tk.held
	t.drop(tk)
	return tk, wasHeld
}

// forgetRelease undoes what release remembers.
func (t *table) forgetRelease(id ticketID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.released.Remove(id)
}

func (t *table) wasReleased(id ticketID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.released.Has(id)
}

// remove removes a ticket. It returns false if the ticket was removed before.
func (t *table) remove(tk *ticket) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tk.isGone() {
		return false
	}
	t.drop(tk)
	return true
}

// removeUnqueued is remove for a ticket that is not kept while another owner has the key.
func (t *table) removeUnqueued(tk *ticket) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tk.isGone() || tk.queued || tk.held {
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
	if !tk.held {
		return
	}
	tk.held = false
	heap.Remove(&t.expiries, tk.index)
	rest := slices.DeleteFunc(t.holders[tk.id.key], func(other *ticket) bool { return other == tk })
	if t.holders[tk.id.key] = rest; len(rest) == 0 {
		delete(t.holders, tk.id.key)
	}
}

// setLost records that the owner of tk no longer has the key. The ticket stays.
func (t *table) setLost(tk *ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clearHeld(tk)
}

// setHeld records that the owner of tk has the key under the terms of g. It returns false
// if the ticket was removed before.
func (t *table) setHeld(tk *ticket, s *session, g driver.Grant) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tk.isGone() {
		return false
	}
	if tk.heldNode != tk.node {
		tk.version = 0
	}
	if tk.held {
		g = placequeue.Extend(tk.grant, g)
	}
	tk.grant, tk.heldNode, tk.heldSession, tk.queued = g, tk.node, s, false
	if tk.held {
		heap.Fix(&t.expiries, tk.index)
	} else {
		tk.held, tk.since = true, g.Sent
		t.holders[tk.id.key] = append(t.holders[tk.id.key], tk)
		heap.Push(&t.expiries, tk)
	}
	if t.expiries[0] == tk {
		t.reschedule()
	}
	return true
}

// heldLock is a copy of what the table knows about a lock that is held.
type heldLock struct {
	ticket  *ticket
	grant   driver.Grant
	node    string
	session *session
	version int32
}

// held returns the lock that the ticket's owner has. It returns false if it has none or
// the lease has ended.
func (t *table) held(id ticketID) (heldLock, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tk := t.tickets[id]
	if tk == nil || !tk.held || tk.expired(time.Now()) {
		return heldLock{}, false
	}
	return heldLock{tk, tk.grant, tk.heldNode, tk.heldSession, tk.version}, true
}

// grantAt returns the grant with the node at path, and when its owner got the key.
func (t *table) grantAt(key, path string) (g driver.Grant, since time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tk := range t.holders[key] {
		if tk.heldNode == path {
			return tk.grant, tk.since, true
		}
	}
	return driver.Grant{}, time.Time{}, false
}

// extend records that g was confirmed, which extends the lease of tk, and the version of the
// node's data. It returns false if the lease has ended before.
func (t *table) extend(tk *ticket, g driver.Grant, version int32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !tk.held || tk.expired(time.Now()) {
		return false
	}
	tk.grant, tk.version = placequeue.Extend(tk.grant, g), max(tk.version, version)
	heap.Fix(&t.expiries, tk.index)
	t.reschedule()
	return true
}

func (t *table) reschedule() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run ends leases when their time is over. It returns when ctx ends.
func (t *table) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		for _, tk := range t.removeExpired() {
			t.onExpiry(tk)
		}
		if d, ok := t.nextExpiry(); ok {
			timer.Reset(d)
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		case <-timer.C:
		}
	}
}

func (t *table) nextExpiry() (time.Duration, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.expiries) == 0 {
		return 0, false
	}
	return time.Until(t.expiries.at(0)), true
}

// removeExpired removes expired tickets, and returns them.
func (t *table) removeExpired() (removed []*ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for now := time.Now(); len(t.expiries) > 0 && t.expiries[0].expired(now); {
		tk := t.expiries[0]
		removed = append(removed, tk)
		t.drop(tk)
	}
	return removed
}
