package locktest

import (
	"slices"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// waitQueue has waiters for a key, and knows which is next.
type waitQueue struct {
	f        *fixture
	places   []string // the owners, in order of arrival
	served   int      // how many of the owners were served
	waiting  []*waiter
	answered chan *waiter
}

// waitQueue returns an empty queue. Its channel has room for more than any case needs.
func (f *fixture) waitQueue() *waitQueue { return &waitQueue{f: f, answered: make(chan *waiter, 16)} }

// takePlace takes a place in the queue for a new owner, which does not wait.
func (q *waitQueue) takePlace(r driver.Request) {
	q.f.Helper()
	q.f.takePlace(r)
	q.places = append(q.places, r.Owner)
}

// join makes an owner wait: at its place if it has one, otherwise at the end.
func (q *waitQueue) join(r driver.Request) {
	q.f.Helper()
	q.joinOn(q.f.queue, r)
}

func (q *waitQueue) joinOn(b driver.Queuer, r driver.Request) {
	q.f.Helper()
	w := q.f.queueUpOn(b, r, q.answered)
	if !slices.Contains(q.places, r.Owner) {
		q.places = append(q.places, r.Owner)
	}
	q.waiting = append(q.waiting, w)
}

// mustWait checks that no waiter was served out of turn.
func (q *waitQueue) mustWait() {
	q.f.Helper()
	for _, w := range q.waiting {
		w.mustWait(q.f)
	}
}

// next waits until a waiter is served, checks that it is the first of the queue, and
// returns its grant.
func (q *waitQueue) next() driver.Grant {
	q.f.Helper()
	turn := q.served + 1
	select {
	case w := <-q.answered:
		if n := slices.Index(q.places, w.request.Owner) + 1; n != turn {
			q.f.Fatalf("waiter %d was served, and it was the turn of waiter %d", n, turn)
		}
		q.served++
		q.waiting = slices.DeleteFunc(q.waiting, func(other *waiter) bool { return other == w })
		return w.served(q.f)
	case <-time.After(patience):
		q.f.Fatalf("waiter %d was not served within %v", turn, patience)
		return driver.Grant{}
	}
}
