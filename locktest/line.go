package locktest

import (
	"slices"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// line is the waiters for a key, of which it knows whose turn it is.
type line struct {
	f        *fixture
	places   []string // the owners, in the order of their arrival
	served   int      // how many of them
	waiting  []*waiter
	answered chan *waiter
}

// line starts a line. It has room for more than any case needs.
func (f *fixture) line() *line { return &line{f: f, answered: make(chan *waiter, 16)} }

// takePlace puts an owner in line who does not wait there yet.
func (l *line) takePlace(r driver.Request) {
	l.f.Helper()
	l.f.takePlace(r)
	l.places = append(l.places, r.Owner)
}

// join has an owner wait in line: at its place if it has one, and else at the end.
func (l *line) join(r driver.Request) {
	l.f.Helper()
	l.joinOn(l.f.queue, r)
}

func (l *line) joinOn(q driver.Queuer, r driver.Request) {
	l.f.Helper()
	w := l.f.queueUpOn(q, r, l.answered)
	if !slices.Contains(l.places, r.Owner) {
		l.places = append(l.places, r.Owner)
	}
	l.waiting = append(l.waiting, w)
}

// mustWait checks that nobody has been served out of turn.
func (l *line) mustWait() {
	l.f.Helper()
	for _, w := range l.waiting {
		w.mustWait(l.f)
	}
}

// next waits until one is answered, checks that it is the first in line, and
// returns its grant.
func (l *line) next() driver.Grant {
	l.f.Helper()
	turn := l.served + 1
	select {
	case w := <-l.answered:
		if n := slices.Index(l.places, w.request.Owner) + 1; n != turn {
			l.f.Fatalf("number %d in line was answered, and it was number %d's turn", n, turn)
		}
		l.served++
		l.waiting = slices.DeleteFunc(l.waiting, func(other *waiter) bool { return other == w })
		return w.served(l.f)
	case <-time.After(patience):
		l.f.Fatalf("number %d in line was not served within %v", turn, patience)
		return driver.Grant{}
	}
}
