package memlock

import (
	"fmt"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// errReleased is the error of an Acquire after its place was released.
var errReleased = fmt.Errorf("%w: released while waiting", driver.ErrNotAcquired)

// queue contains the waiters for a key, in order of arrival.
type queue struct {
	first, last *waiter
	timer       *time.Timer // fires when the first of the leases ends; nil without waiters
}

// waiter is a place in a queue. It outlives the Acquire that made it: an Acquire that
// comes back with the same owner has the same place. If its turn comes between two
// calls, the waiter is granted the key all the same: the next Acquire finds the grant,
// Release passes it on, and otherwise it expires.
type waiter struct {
	owner      string
	sharing    driver.Sharing
	ttl        time.Duration
	tokens     int
	prev, next *waiter
	done       chan struct{} // closed when the waiter has left the queue
	grant      driver.Grant
	err        error
}

func (q *queue) append(w *waiter) {
	w.prev = q.last
	if w.prev == nil {
		q.first = w
	} else {
		w.prev.next = w
	}
	q.last = w
}

// remove takes w out of the queue. It stops the timer if the queue is empty then.
func (q *queue) remove(w *waiter) {
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	if q.first == nil {
		q.timer.Stop()
		q.timer = nil
	}
}
