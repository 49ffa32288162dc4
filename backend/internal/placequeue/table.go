package placequeue

import (
	"sync"
	"time"

	"github.com/distlock-go/distlock/backend/internal/recent"
	"github.com/distlock-go/distlock/driver"
)

// ID identifies a ticket.
type ID struct{ Key, Owner string }

// Ticket is one owner's request for one key, from the first attempt until the owner gives it
// up. A store embeds it in a type of its own. S is what the store knows of a place that has
// the key.
type Ticket[S any] struct {
	ID   ID
	Gone chan struct{} // closed when the ticket has left the table

	queued bool // the ticket is kept while another owner has the key
	held   bool // the owner has the key; the fields below are set
	lease  Lease[S]
	timer  *time.Timer // ends the lease
}

// NewTicket returns a ticket for a [Table].
func NewTicket[S any](id ID) Ticket[S] { return Ticket[S]{ID: id, Gone: make(chan struct{})} }

func (tk *Ticket[S]) base() *Ticket[S] { return tk }

// IsGone reports whether the ticket has left the table.
func (tk *Ticket[S]) IsGone() bool {
	select {
	case <-tk.Gone:
		return true
	default:
		return false
	}
}

// expired reports whether the lease has ended.
func (tk *Ticket[S]) expired() bool { return !time.Now().Before(End(tk.lease.Grant)) }

func (tk *Ticket[S]) extend(g driver.Grant) {
	tk.lease.Grant = Extend(tk.lease.Grant, g)
	tk.timer.Reset(time.Until(End(tk.lease.Grant)))
}

// Lease is what is known of an owner that has the key.
type Lease[S any] struct {
	Place string       // its path
	Store S            // of the store
	Since time.Time    // when the owner got the key
	Grant driver.Grant // as last confirmed
}

// Held is a ticket and a copy of its lease. Its owner has the key.
type Held[T any, S any] struct {
	Lease[S]

	Ticket T
}

// Table has the tickets of a Backend, which of their owners have the key, and until when. The
// stores know no leases of locks: the table ends a lease that is not renewed. The mutex also
// guards what the store keeps in its tickets.
type Table[T interface{ base() *Ticket[S] }, S any] struct {
	sync.Mutex

	ended    func(tk T) // called for each lease that has ended, without the mutex
	tickets  map[ID]T
	holders  map[string]T // by path of the place
	releases recent.Set[ID]
}

// Init prepares an empty table. It calls ended for each lease that has ended.
func (t *Table[T, S]) Init(ended func(tk T)) {
	t.ended, t.tickets, t.holders = ended, make(map[ID]T), make(map[string]T)
}

// GetOrAdd returns the ticket with the ID. If there is none, it adds the one that newTicket
// returns, which it calls with the mutex. The ticket of a queued request is kept while another
// owner has the key.
func (t *Table[T, S]) GetOrAdd(id ID, queued bool, newTicket func() T) T {
	t.Lock()
	defer t.Unlock()
	tk, ok := t.tickets[id]
	if !ok {
		tk = newTicket()
		t.tickets[id] = tk
	}
	one := tk.base()
	one.queued = one.queued || queued
	return tk
}

// Remove removes a ticket. It returns false if the ticket was removed before. With unqueued it
// keeps a ticket that waits or is held.
func (t *Table[T, S]) Remove(tk T, unqueued bool) bool {
	t.Lock()
	defer t.Unlock()
	one := tk.base()
	if one.IsGone() || unqueued && (one.queued || one.held) {
		return false
	}
	t.drop(tk)
	return true
}

// Release removes the ticket with the ID. It returns false if there is none, and otherwise the
// ticket and whether its owner had the key.
func (t *Table[T, S]) Release(id ID) (tk T, wasHeld, ok bool) {
	t.Lock()
	defer t.Unlock()
	if tk, ok = t.tickets[id]; ok {
		wasHeld = tk.base().held
		t.drop(tk)
	}
	return tk, wasHeld, ok
}

// SetUnanswered remembers for some time that a release had no answer.
func (t *Table[T, S]) SetUnanswered(id ID) {
	t.Lock()
	defer t.Unlock()
	t.releases.Add(id)
}

// WasUnanswered reports whether a release had no answer.
func (t *Table[T, S]) WasUnanswered(id ID) bool {
	t.Lock()
	defer t.Unlock()
	return t.releases.Has(id)
}

func (t *Table[T, S]) drop(tk T) {
	t.SetLost(tk)
	delete(t.tickets, tk.base().ID)
	close(tk.base().Gone)
}

// SetLost records that the owner of tk does not have the key. The ticket stays. The caller has
// locked the mutex.
func (t *Table[T, S]) SetLost(tk T) {
	if one := tk.base(); one.held {
		one.held = false
		one.timer.Stop()
		delete(t.holders, one.lease.Place)
	}
}

// SetHeld records that the owner of tk has the key with the place at path, under the terms of
// g. If it has the key already, g gets the tokens of that grant. SetHeld returns false if the
// ticket was removed before. The caller has locked the mutex.
func (t *Table[T, S]) SetHeld(tk T, path string, store S, g *driver.Grant) bool {
	one := tk.base()
	if one.IsGone() {
		return false
	}
	one.queued = false
	if one.held && one.lease.Place == path {
		g.Token, g.LastToken = one.lease.Grant.Token, one.lease.Grant.LastToken
		one.extend(*g)
		return true
	}
	t.SetLost(tk)
	one.held, one.lease = true, Lease[S]{path, store, g.Sent, *g}
	one.timer = time.AfterFunc(time.Until(End(*g)), func() { t.expire(tk) })
	t.holders[path] = tk
	return true
}

// expire ends the lease of tk if it was not renewed.
func (t *Table[T, S]) expire(tk T) {
	t.Lock()
	ended := tk.base().held && tk.base().expired()
	if ended {
		t.drop(tk)
	}
	t.Unlock()
	if ended {
		t.ended(tk)
	}
}

// HeldBy returns the lease of an owner. It returns false if it has none or the lease has
// ended.
func (t *Table[T, S]) HeldBy(id ID) (Held[T, S], bool) {
	t.Lock()
	defer t.Unlock()
	tk, ok := t.tickets[id]
	if !ok || !tk.base().held || tk.base().expired() {
		return Held[T, S]{}, false
	}
	return Held[T, S]{tk.base().lease, tk}, true
}

// HeldAt returns the lease of the place at path. It returns false if this process has none.
func (t *Table[T, S]) HeldAt(path string) (Lease[S], bool) {
	t.Lock()
	defer t.Unlock()
	tk, ok := t.holders[path]
	if !ok {
		return Lease[S]{}, false
	}
	return tk.base().lease, true
}

// Extend records that g was confirmed, which extends the lease of tk. It returns false if the
// lease has ended before.
func (t *Table[T, S]) Extend(tk T, g driver.Grant) bool {
	t.Lock()
	defer t.Unlock()
	one := tk.base()
	if !one.held || one.expired() {
		return false
	}
	one.extend(g)
	return true
}

// StopTimers ends no lease any more.
func (t *Table[T, S]) StopTimers() {
	t.Lock()
	defer t.Unlock()
	for _, tk := range t.holders {
		tk.base().timer.Stop()
	}
}
