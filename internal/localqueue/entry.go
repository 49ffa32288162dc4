package localqueue

import (
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/compat"
)

// entry has the admitted callers of one key and its waiters in order of arrival. The
// Queue's mutex guards it.
type entry[L Lease] struct {
	head, tail *Waiter[L]
	waiting    int    // number of waiters
	tickets    uint64 // number of waiters so far
	writers    int    // waiters that are not readers

	admitted  int            // number of admitted callers
	sharing   driver.Sharing // of the caller that was admitted last
	acquiring int            // admitted readers that ask the store
	shared    L              // the lease that other readers may share, or none

	backendErr error     // what the store last answered to an admitted caller
	errAt      time.Time // when it answered
	errUntil   time.Time // until when the answer is valid
}

// Waiter is the place of one caller in the queue of a key.
type Waiter[L Lease] struct {
	class      compat.Class
	ticket     uint64       // 1 for the first waiter of the entry
	turn       chan Turn[L] // receives once
	prev, next *Waiter[L]
	queued     bool
}

// Ticket returns w's number, for [Queue.Place]. The caller must not have got w's turn.
func (w *Waiter[L]) Ticket() uint64 { return w.ticket }

// Turn is the end of a wait: the caller is admitted, or the Queue was closed.
type Turn[L Lease] struct {
	Lease  L // handed over or to share, or none
	Closed bool
}

// tryAdmit admits a caller that is the first in the queue, unless it must wait for the
// admitted callers. A reader may get a lease to share. Otherwise it asks the store, one
// reader at a time, because the others may share what the first one gets.
func (e *entry[L]) tryAdmit(c compat.Class, ticket uint64) (shared L, ok bool) {
	var none L
	if e.shared != none && e.shared.Class() == c && e.shared.Attach(time.Now(), ticket) {
		e.admitted++
		return e.shared, true
	}
	if e.acquiring > 0 || !e.sharing.Admits(e.admitted, c.Sharing) {
		return none, false
	}
	e.admit(c)
	return none, true
}

// admitsAside reports whether a caller that does not wait is admitted although it would
// have to wait: a reader is not refused because another reader asks the store.
func (e *entry[L]) admitsAside(c compat.Class) bool {
	return e != nil && e.writers == 0 && c.Sharing.Mode == driver.Shared && e.sharing.Admits(e.admitted, c.Sharing)
}

// admit admits a caller without a lease.
func (e *entry[L]) admit(c compat.Class) {
	e.admitted++
	e.sharing = c.Sharing
	if c.Sharing.Mode == driver.Shared {
		e.acquiring++
	}
}

func (e *entry[L]) push(w *Waiter[L]) {
	e.tickets++
	w.ticket, w.queued, w.prev = e.tickets, true, e.tail
	if e.tail == nil {
		e.head = w
	} else {
		e.tail.next = w
	}
	e.tail = w
	e.waiting++
	if w.class.Sharing.Mode != driver.Shared {
		e.writers++
	}
}

func (e *entry[L]) remove(w *Waiter[L]) {
	if w.prev == nil {
		e.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		e.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.queued, w.prev, w.next = false, nil, nil
	e.waiting--
	if w.class.Sharing.Mode != driver.Shared {
		e.writers--
	}
}

var (
	// ErrBusy says that a caller that does not wait would have to.
	ErrBusy = errors.New("localqueue: busy")

	// ErrClosed says that the Queue is closed.
	ErrClosed = errors.New("localqueue: closed")
)
