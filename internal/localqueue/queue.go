// Package localqueue is the queue inside one process. For each key it admits callers to
// the store, and keeps the others waiting in order of arrival. A caller that is done may
// pass on its lease, so that the next caller needs no round trip to the store.
package localqueue

import (
	"fmt"
	"sync"
	"time"

	"github.com/distlock-go/distlock/internal/compat"
)

// Lease is what a caller that has a key can pass on to another.
type Lease interface {
	comparable // the zero value stands for no lease

	// Class returns the class of the acquisition that the lease was made for. Only
	// callers with an equal class get the lease.
	Class() compat.Class

	// Transfer takes the lease away from its holder, for the next one, which has the
	// ticket; newest is the last one so far. It returns false, and changes nothing, if the
	// lease must go back to the store. If there is a channel, Transfer may succeed when
	// the channel is closed.
	Transfer(now time.Time, ticket, newest uint64) (ok bool, pending <-chan struct{})

	// Attach lets one more reader share the lease. It returns false, and changes
	// nothing, if the reader must ask the store.
	Attach(now time.Time, ticket uint64) bool
}

// Queue admits for each key one exclusive caller, any number of readers, or as many
// callers as a semaphore has permits. Of the readers, one at a time asks the store; the
// others share the lease that it gets. A caller stays admitted until it calls Exit or
// passes on its lease, even if the lease is lost, so callers that exclude each other
// never overlap in this process. A Queue is safe for concurrent use.
type Queue[L Lease] struct {
	maxKeys    int
	maxWaiters int
	unused     sync.Pool // of waiters, each with a channel

	mu      sync.Mutex
	entries map[string]*entry[L] // nil: one exclusive caller is admitted, and no caller waits
	waiting int                  // waiters for all keys
	closed  bool
}

// New returns a Queue for at most maxKeys keys and maxWaiters waiters for all keys.
func New[L Lease](maxKeys, maxWaiters int) *Queue[L] {
	q := &Queue[L]{maxKeys: maxKeys, maxWaiters: maxWaiters, entries: make(map[string]*entry[L])}
	q.unused.New = func() any { return &Waiter[L]{turn: make(chan Turn[L], 1)} }
	return q
}

// Enter admits the caller to a key, perhaps with a lease to share, or returns a Waiter.
// At most maxWaiters callers wait for the key. If maxWaiters is 0 the caller does not
// wait, and the error is [ErrBusy]. The error may also be [ErrClosed] or say which
// limit is reached.
func (q *Queue[L]) Enter(key string, c compat.Class, maxWaiters int) (w *Waiter[L], shared L, _ error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, shared, ErrClosed
	}
	e, used := q.entries[key]
	if !used {
		if n := len(q.entries); n >= q.maxKeys {
			return nil, shared, fmt.Errorf("%d keys in use, which is the limit", n)
		}
		if c.Sharing != (compat.Class{}).Sharing {
			e = &entry[L]{}
			e.admit(c)
		}
		q.entries[key] = e
		return nil, shared, nil
	}
	if e != nil && e.head == nil {
		if shared, ok := e.tryAdmit(c, e.tickets+1); ok {
			return nil, shared, nil
		}
	}
	if maxWaiters == 0 {
		if e.admitsAside(c) {
			e.admit(c)
			return nil, shared, nil
		}
		return nil, shared, ErrBusy
	}
	e = q.entry(key)
	switch {
	case e.waiting >= maxWaiters:
		return nil, shared, fmt.Errorf("%d wait for the key (Config.MaxWaiters)", e.waiting)
	case q.waiting >= q.maxWaiters:
		return nil, shared, fmt.Errorf("%d wait (Config.MaxWaiters)", q.waiting)
	}
	w = q.unused.Get().(*Waiter[L]) //nolint:forcetypeassert // nothing else is in the pool
	w.class = c
	q.waiting++
	e.push(w)
	return w, shared, nil
}

// entry returns the entry of a key that a caller is admitted to. The caller has the
// mutex.
func (q *Queue[L]) entry(key string) *entry[L] {
	e := q.entries[key]
	if e == nil {
		e = &entry[L]{admitted: 1}
		q.entries[key] = e
	}
	return e
}

// Place returns the place of a waiter of the key in its queue, and how many wait there: 1 is
// the first, and 0 says that its turn has come. It also counts waiters that have left between
// the first waiter and it.
func (q *Queue[L]) Place(key string, ticket uint64) (place, waiters int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.entries[key]
	switch {
	case e == nil || e.head == nil:
		return 0, 0
	case ticket < e.head.ticket:
		return 0, e.waiting
	default:
		return min(int(ticket-e.head.ticket)+1, e.waiting), e.waiting
	}
}

// Newest returns the ticket of the waiter of the key that came last, or 0. A caller must be
// admitted: without one, the tickets begin anew.
func (q *Queue[L]) Newest(key string) uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.entries[key]; e != nil {
		return e.tickets
	}
	return 0
}

// Waiting returns how many wait for the key.
func (q *Queue[L]) Waiting(key string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.entries[key]; e != nil {
		return e.waiting
	}
	return 0
}

// Wait waits for w's turn. It returns false if done or alarm comes first; then w is still
// waiting. When it has returned true, w must not be used again.
func (q *Queue[L]) Wait(w *Waiter[L], done <-chan struct{}, alarm <-chan time.Time) (Turn[L], bool) {
	select {
	case t := <-w.turn:
		q.unused.Put(w)
		return t, true
	case <-alarm:
	case <-done:
	}
	return Turn[L]{}, false
}

// Cancel ends w's wait. It returns true if w's turn came before; then the caller is
// admitted, unless the turn says that the Queue is closed. w must not be used again.
func (q *Queue[L]) Cancel(key string, w *Waiter[L]) (Turn[L], bool) {
	removed := q.remove(key, w)
	if removed {
		q.unused.Put(w)
		return Turn[L]{}, false
	}
	t := <-w.turn
	q.unused.Put(w)
	return t, true
}

// remove takes w out of the queue. It returns false if w's turn came before.
func (q *Queue[L]) remove(key string, w *Waiter[L]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !w.queued {
		return false
	}
	e := q.entries[key]
	e.remove(w)
	q.waiting--
	q.advance(e) // w may have kept others waiting
	return true
}

// HandOver passes the caller's admission and its lease on to the first waiter, if the
// waiter's class is equal and [Lease].Transfer agrees. It returns false if not; then the
// caller still has both. If there is a channel, HandOver may succeed when it is closed.
func (q *Queue[L]) HandOver(key string, l L, now time.Time) (bool, <-chan struct{}) {
	w, pending := q.transfer(key, l, now)
	if w == nil {
		return false, pending
	}
	w.turn <- Turn[L]{Lease: l} // not under the mutex, which the waiter takes next
	return true, nil
}

// transfer takes the first waiter out of the queue if l can be handed over to it.
func (q *Queue[L]) transfer(key string, l L, now time.Time) (*Waiter[L], <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.entries[key]
	if e == nil || e.head == nil || e.head.class != l.Class() {
		return nil, nil
	}
	ok, pending := l.Transfer(now, e.head.ticket, e.tickets)
	if !ok {
		return nil, pending
	}
	w := q.shift(e)
	q.advance(e) // the next waiter may ask for more permits
	return w, nil
}

// Exit ends the caller's admission and admits the waiters that need not wait any more.
// acquiring reports that the caller is a reader that asks the store: it was admitted
// without a lease, and has not called Acquired.
func (q *Queue[L]) Exit(key string, acquiring bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.entries[key]
	if e == nil {
		delete(q.entries, key)
		return
	}
	e.admitted--
	if acquiring {
		e.acquiring--
	}
	q.advance(e)
	if e.admitted == 0 {
		delete(q.entries, key)
	}
}

// StartAcquire says that an admitted reader asks the store, because the lease that it was
// to share was lost.
func (q *Queue[L]) StartAcquire(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.entries[key].acquiring++
}

// Acquired says that an admitted reader has asked the store and got l. Other readers,
// beginning with the waiting ones, may share l from now on.
func (q *Queue[L]) Acquired(key string, l L) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.entries[key]
	e.acquiring--
	if l.Class().Shares() {
		e.shared = l
	}
	q.advance(e)
}

// SetBackendErr records what the store last answered to an admitted caller, which is an
// error or the holder of the key. It is valid until then, or until SetBackendErr is
// called with nil.
func (q *Queue[L]) SetBackendErr(key string, err error, until time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.entry(key)
	e.backendErr, e.errAt, e.errUntil = err, time.Now(), until
}

// BackendErr returns the error of SetBackendErr and its age. It returns nil if there is
// no valid one.
func (q *Queue[L]) BackendErr(key string, now time.Time) (age time.Duration, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.entries[key]
	if e == nil || !now.Before(e.errUntil) {
		return 0, nil
	}
	return now.Sub(e.errAt), e.backendErr
}

// Close ends every wait, and refuses every later Enter, with [ErrClosed].
func (q *Queue[L]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, e := range q.entries {
		for e != nil && e.head != nil {
			q.shift(e).turn <- Turn[L]{Closed: true}
		}
	}
}

// advance admits the first waiters of e while they need not wait. The caller has the
// mutex.
func (q *Queue[L]) advance(e *entry[L]) {
	if e.admitted == 0 {
		var none L
		e.shared = none
	}
	for e.head != nil {
		shared, ok := e.tryAdmit(e.head.class, e.head.ticket)
		if !ok {
			return
		}
		q.shift(e).turn <- Turn[L]{Lease: shared}
	}
}

// shift takes the first waiter out of e. The caller has the mutex.
func (q *Queue[L]) shift(e *entry[L]) *Waiter[L] {
	w := e.head
	e.remove(w)
	q.waiting--
	return w
}

// Counts returns how many keys callers are admitted to, and how many callers wait.
func (q *Queue[L]) Counts() (keys, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.entries), q.waiting
}
