package memlock

import (
	"context"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// errGivenUp answers an Acquire whose place was released under it.
var errGivenUp = fmt.Errorf("%w: released while waiting", driver.ErrNotAcquired)

// line is who waits for a key, in order of arrival.
type line struct {
	first, last *waiter
	timer       *time.Timer // ends the next of the holders' leases; nil if nobody is in line
}

// waiter is a place in a line. It outlives the Acquire that took it: whoever
// comes back with the same owner stands where it stood. If its turn comes
// meanwhile it is given the key all the same, to be found by the next Acquire,
// passed on by Release or, if neither comes, to run out.
type waiter struct {
	owner      string
	kind       kind
	ttl        time.Duration
	tokens     int
	prev, next *waiter
	done       chan struct{} // closed when the place is gone
	grant      driver.Grant
	err        error
}

// Acquire implements [driver.Queuer]. If the key is granted in the moment in
// which ctx ends, the grant wins. A nil r.Backoff never gives up.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, err
	}
	s := b.shard(r.Key)
	s.mu.Lock()
	g, held := s.take(&r, time.Now())
	if held == nil {
		s.mu.Unlock()
		return g, nil
	}
	var ring <-chan time.Time
	var alarm *time.Timer
	if r.Backoff != nil {
		d, ok := r.Backoff.Wait()
		if !ok {
			s.mu.Unlock()
			return driver.Grant{}, held
		}
		alarm = time.NewTimer(d)
		defer alarm.Stop()
		ring = alarm.C
	}
	e := s.keys[r.Key]
	w := s.enter(e, &r)
	s.mu.Unlock()

	for {
		select {
		case <-w.done:
			return w.grant, w.err
		case <-ctx.Done():
			return s.leave(e, w, ctx.Err())
		case <-ring:
			// Nothing is ever missed here, so looking again would find nothing
			// new. What the budget decides is how long to stay.
			d, ok := r.Backoff.Wait()
			if !ok {
				return s.leave(e, w, nil)
			}
			alarm.Reset(d)
		}
	}
}

// enter returns r's place in the line of e, its old one if it has one.
func (s *shard) enter(e *entry, r *driver.Request) *waiter {
	c := claim{r.Key, r.Owner}
	w := s.places[c]
	if w == nil {
		w = &waiter{owner: r.Owner, done: make(chan struct{})}
		s.places[c] = w
		e.line.append(w)
		s.watch(e, time.Now())
	}
	w.kind, w.ttl, w.tokens = kindOf(r), r.TTL, r.Tokens
	return w
}

// leave ends one Acquire because the key is held, and for the reason why if why is not
// nil. The place stays.
func (s *shard) leave(e *entry, w *waiter, why error) (driver.Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.done: // after this, e may be another key's
		return w.grant, w.err
	default:
	}
	held := e.held(w.kind, time.Now())
	if why == nil {
		return driver.Grant{}, held
	}
	return driver.Grant{}, fmt.Errorf("%w: %w", held, why)
}

// advance gives the key to those at the head of the line for whom there is room, in
// order of arrival. Whoever has the key by then has a lease that is running.
func (s *shard) advance(e *entry, now time.Time) {
	var served *waiter // linked by next
	for w := e.line.first; w != nil && e.fits(w.kind); w = e.line.first {
		e.line.remove(w)
		delete(s.places, claim{e.key, w.owner})
		w.grant = s.give(e, w.owner, w.kind, w.ttl, w.tokens, now).grant(e, w.kind, w.ttl, now)
		w.next, served = served, w
	}
	s.watch(e, now)
	for w := served; w != nil; {
		next := w.next
		w.next = nil
		w.grant.Contended = e.line.first != nil
		close(w.done)
		w = next
	}
}

// giveUp takes w out of the line.
func (s *shard) giveUp(e *entry, w *waiter) {
	e.line.remove(w)
	delete(s.places, claim{e.key, w.owner})
	w.err = errGivenUp
	close(w.done)
}

// watch sees to it that somebody notices the end of a holder's lease: a timer
// while there is a line, otherwise whoever asks next.
func (s *shard) watch(e *entry, now time.Time) {
	l := &e.line
	if l.first == nil {
		return
	}
	left := e.nextEnd().Sub(now)
	if l.timer != nil {
		l.timer.Reset(left)
		return
	}
	key := e.key
	var timer *time.Timer
	timer = time.AfterFunc(left, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		// While this waited for the mutex the entry may have become another
		// key's; only the timer tells.
		e := s.keys[key]
		if e == nil || e.line.timer != timer {
			return
		}
		now := time.Now()
		e.prune(now)
		s.advance(e, now)
	})
	l.timer = timer
}

func (l *line) append(w *waiter) {
	w.prev = l.last
	if w.prev == nil {
		l.first = w
	} else {
		w.prev.next = w
	}
	l.last = w
}

// remove takes w out; the last one to go stops the timer.
func (l *line) remove(w *waiter) {
	if w.prev == nil {
		l.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	if l.first == nil {
		l.timer.Stop()
		l.timer = nil
	}
}
