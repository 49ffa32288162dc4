package placequeue

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/distlock-go/distlock/backend/internal/recent"
	"github.com/distlock-go/distlock/driver"
)

// ID identifies a ticket.
type ID struct{ Key, Owner string }

// Store is what a store knows of a place that has the key.
type Store interface {
	// HasEnded reports whether the session of the place is known to have ended.
	HasEnded() bool
}

// Ticket is one owner's request for one key, from the first attempt until the owner
// gives it up. A store embeds it in a type of its own.
type Ticket[S Store] struct {
	ID      ID
	Sharing driver.Sharing
	Gone    chan struct{} // closed when the ticket has left the table

	queued bool // the ticket is kept while another owner has the key
	wait   *wait
	held   bool // the owner has the key; the fields below are set
	lease  Lease[S]
	timer  *time.Timer // ends the lease
}

func (tk *Ticket[S]) base() *Ticket[S] { return tk }

// IsGone reports whether the ticket has left the table.
func (tk *Ticket[S]) IsGone() bool { return IsClosed(tk.Gone) }

// expired reports whether the lease has ended.
func (tk *Ticket[S]) expired() bool { return !time.Now().Before(End(tk.lease.Grant)) }

// extend records that the store has confirmed the terms of g. The answer may be late,
// so the lease is shortened only if g has [driver.Grant].Retain. Retain is not kept: a
// later request is not of that renewal.
func (tk *Ticket[S]) extend(g driver.Grant) {
	if present := tk.lease.Grant; !g.Retain && End(g).Before(End(present)) {
		g.Sent, g.TTL = present.Sent, present.TTL
	}
	g.Retain = false
	tk.lease.Grant = g
	tk.timer.Reset(time.Until(End(g)))
}

// End returns when the lease of g ends.
func End(g driver.Grant) time.Time { return g.Sent.Add(g.TTL) }

// Lease is what is known of an owner that has the key.
type Lease[S Store] struct {
	Place string       // its path
	Store S            // of the store
	Since time.Time    // when the owner got the key
	Grant driver.Grant // as last confirmed
}

// HeldError returns the error for another owner that asks for the key.
func (l *Lease[S]) HeldError() *driver.HeldError {
	left := max(time.Until(End(l.Grant)), 0)
	return &driver.HeldError{Holder: driver.HolderOf(l.Grant.Owner), Held: time.Since(l.Since), RetryAfter: left}
}

// Held is a ticket and a copy of its lease. Its owner has the key.
type Held[T any, S Store] struct {
	Lease[S]

	Ticket T
}

// Table has the tickets of a Backend, which of their owners have the key, and until
// when. The stores know no leases of locks: the table ends a lease that is not renewed.
// The mutex also guards what the store keeps in its tickets.
type Table[T interface{ base() *Ticket[S] }, S Store] struct {
	sync.Mutex

	limit    func(context.Context) (context.Context, context.CancelFunc) // of one operation
	ended    func(tk T)                                                  // has the place deleted of a lease that has ended; called without the mutex
	calls    chan struct{}                                               // full while maxCalls of them have no answer
	tickets  map[ID]T
	holders  map[string]T // by path of the place
	releases recent.Set[ID]
	told     sync.Once
}

// Init prepares an empty table. limit returns the context of one operation. The table calls
// ended for each lease that has ended.
func (t *Table[T, S]) Init(limit func(context.Context) (context.Context, context.CancelFunc), ended func(tk T)) {
	t.limit, t.ended, t.tickets, t.holders = limit, ended, make(map[ID]T), make(map[string]T)
	t.calls = make(chan struct{}, maxCalls)
}

// GetOrAdd returns the ticket of the request's owner. If there is none, it adds what
// newTicket returns. It calls newTicket with the mutex. The ticket of a queued request
// is kept while another owner has the key.
func (t *Table[T, S]) GetOrAdd(ctx context.Context, r *driver.Request, queued bool, newTicket func(Ticket[S]) T) (none T, err error) {
	if err := ctx.Err(); err != nil {
		return none, driver.NotSent(err)
	}
	id := ID{r.Key, r.Owner}
	t.Lock()
	defer t.Unlock()
	tk, ok := t.tickets[id]
	if !ok {
		tk = newTicket(Ticket[S]{ID: id, Sharing: r.Sharing(), Gone: make(chan struct{})})
		t.tickets[id] = tk
	}
	one := tk.base()
	if one.Sharing != r.Sharing() {
		return none, fmt.Errorf("the owner has asked for %+v before, and now for %+v", one.Sharing, r.Sharing())
	}
	one.queued = one.queued || queued
	return tk, nil
}

// Remove removes a ticket. It returns false if the ticket was removed before. With
// unqueued it keeps a ticket that waits or is held.
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

// Lose removes a ticket as [Table.Remove] does, and ends its lease.
func (t *Table[T, S]) Lose(tk T, unqueued bool) {
	if t.Remove(tk, unqueued) {
		t.ended(tk)
	}
}

func (t *Table[T, S]) drop(tk T) {
	t.SetLost(tk)
	delete(t.tickets, tk.base().ID)
	close(tk.base().Gone)
}

// SetLost records that the owner of tk does not have the key. The ticket stays. The
// caller has locked the mutex.
func (t *Table[T, S]) SetLost(tk T) {
	if one := tk.base(); one.held {
		one.held = false
		one.timer.Stop()
		delete(t.holders, one.lease.Place)
	}
}

// TellSession logs once that a lease is shorter than its session allows: after a crash
// the key is blocked for the session all the same. The option of the package sets the
// session.
func (t *Table[T, S]) TellSession(lease, session time.Duration, option string) {
	if lease < session/2 {
		t.told.Do(func() {
			slog.Info("after a crash, keys stay locked for the time of the session, which is longer than the lease", "lease", lease, "session", session, "option", option)
		})
	}
}

// SetHeld records that the owner of tk has the key with the place at path, under the
// terms of g. If it has the key already, g gets the tokens of that grant. SetHeld
// returns false if the ticket was removed before. The caller has locked the mutex.
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

// Move records that the owner of tk, if it has the key, has it with another place from
// now on.
func (t *Table[T, S]) Move(tk T, path string) {
	t.Lock()
	defer t.Unlock()
	if one := tk.base(); one.held {
		delete(t.holders, one.lease.Place)
		one.lease.Place, t.holders[path] = path, tk
	}
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

// HeldBy returns the lease of g's owner. It returns false if there is none, or the
// lease or the session has ended.
func (t *Table[T, S]) HeldBy(g *driver.Grant) (Held[T, S], bool) {
	t.Lock()
	defer t.Unlock()
	tk, ok := t.tickets[ID{g.Key, g.Owner}]
	if !ok || !tk.base().held || tk.base().expired() || tk.base().lease.Store.HasEnded() {
		return Held[T, S]{}, false
	}
	return Held[T, S]{tk.base().lease, tk}, true
}

// HeldAt returns the lease of the place at path. It returns false if this process has
// none.
func (t *Table[T, S]) HeldAt(path string) (Lease[S], bool) {
	t.Lock()
	defer t.Unlock()
	tk, ok := t.holders[path]
	if !ok {
		return Lease[S]{}, false
	}
	return tk.base().lease, true
}

// Extend records that g was confirmed, which extends the lease of tk. It returns false
// if the lease has ended before.
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
