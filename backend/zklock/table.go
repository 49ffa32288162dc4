package zklock

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// table is what a Backend knows about its owners: their places, which of them have
// the key and until when. ZooKeeper's locks end with the session; it is the table
// that ends a lease that nobody renews.
type table struct {
	expire func(p *place) // called for each whose lease is over, without the mutex
	wake   chan struct{}

	mu       sync.Mutex
	places   map[claim]*place
	holders  map[string][]*place // by key, our own holders
	schedule schedule
	released memory
	leaving  map[string]bool // paths of nodes that are to be deleted
}

func newTable(expire func(p *place)) *table {
	return &table{
		expire: expire, wake: make(chan struct{}, 1),
		places: make(map[claim]*place), holders: make(map[string][]*place), leaving: make(map[string]bool),
	}
}

// enter returns the place of c, a new one if it has none. It is nil if c was
// released before.
func (t *table) enter(c claim, queued bool, fresh func() *place) *place {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.places[c]
	if p == nil {
		if t.released.has(c) {
			return nil
		}
		p = fresh()
		t.places[c] = p
	}
	p.queued = p.queued || queued
	return p
}

// heldByOther reports whether one of ours has the key, and c has no place.
func (t *table) heldByOther(c claim) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.holders[c.key]) > 0 && t.places[c] == nil
}

// release gives up the place of c and remembers for a while that it did. It
// returns nil if there is none.
func (t *table) release(c claim) (p *place, wasHeld bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p = t.places[c]; p == nil {
		return nil, false
	}
	t.released.add(c)
	wasHeld = p.held
	t.drop(p)
	return p, wasHeld
}

// forget takes back what release has remembered.
func (t *table) forget(c claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.released.remove(c)
}

func (t *table) wasReleased(c claim) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.released.has(c)
}

// remove gives up a place. It returns false if that was done before.
func (t *table) remove(p *place) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.isGone() {
		return false
	}
	t.drop(p)
	return true
}

// removeUnqueued is remove for places that are not kept while another has the key.
func (t *table) removeUnqueued(p *place) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.isGone() || p.queued || p.held {
		return false
	}
	t.drop(p)
	return true
}

func (t *table) drop(p *place) {
	t.unhold(p)
	delete(t.places, p.claim)
	close(p.gone)
}

func (t *table) unhold(p *place) {
	if !p.held {
		return
	}
	p.held = false
	heap.Remove(&t.schedule, p.index)
	rest := slices.DeleteFunc(t.holders[p.claim.key], func(q *place) bool { return q == p })
	if t.holders[p.claim.key] = rest; len(rest) == 0 {
		delete(t.holders, p.claim.key)
	}
}

// lost records that p has the key no more, but keeps the place.
func (t *table) lost(p *place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unhold(p)
}

// hold records that p has the key as g says. It returns false if the place was
// given up meanwhile.
func (t *table) hold(p *place, s *session, g driver.Grant) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.isGone() {
		return false
	}
	p.grant, p.path, p.of, p.queued = g, p.node, s, false
	if p.held {
		heap.Fix(&t.schedule, p.index)
	} else {
		p.held, p.since = true, g.Sent
		t.holders[p.claim.key] = append(t.holders[p.claim.key], p)
		heap.Push(&t.schedule, p)
	}
	if t.schedule[0] == p {
		t.nudge()
	}
	return true
}

// holding is what a place has.
type holding struct {
	place *place
	grant driver.Grant
	path  string
	of    *session
}

// holding returns what c has, and false if it has nothing, or its lease is over.
func (t *table) holding(c claim) (holding, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.places[c]
	if p == nil || !p.held || p.ended(time.Now()) {
		return holding{}, false
	}
	return holding{p, p.grant, p.path, p.of}, true
}

// find returns the grant whose node is at path, and when its owner got it.
func (t *table) find(key, path string) (g driver.Grant, since time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.holders[key] {
		if p.path == path {
			return p.grant, p.since, true
		}
	}
	return driver.Grant{}, time.Time{}, false
}

// extend records that g was confirmed, which continues what p has. It returns false
// if that was over before.
func (t *table) extend(p *place, g driver.Grant) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !p.held || p.ended(time.Now()) {
		return false
	}
	p.grant = g
	heap.Fix(&t.schedule, p.index)
	t.nudge()
	return true
}

// condemn records that a node is to be deleted, so that nobody takes it for its
// own again; acquit that it has been.
func (t *table) condemn(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leaving[path] = true
}

func (t *table) acquit(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.leaving, path)
}

func (t *table) condemned(path string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.leaving[path]
}

func (t *table) nudge() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run ends leases when their time is over, until ctx ends.
func (t *table) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		for _, p := range t.due() {
			t.expire(p)
		}
		if d, ok := t.next(); ok {
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

func (t *table) next() (time.Duration, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.schedule) == 0 {
		return 0, false
	}
	g := &t.schedule[0].grant
	return time.Until(g.Sent.Add(g.TTL)), true
}

// due gives up the places whose lease is over, and returns them.
func (t *table) due() (over []*place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for now := time.Now(); len(t.schedule) > 0 && t.schedule[0].ended(now); {
		p := t.schedule[0]
		over = append(over, p)
		t.drop(p)
	}
	return over
}

// memory remembers the latest of many claims.
type memory struct {
	claims [1024]claim
	next   int
	index  map[claim]struct{}
}

func (m *memory) add(c claim) {
	if m.index == nil {
		m.index = make(map[claim]struct{})
	}
	if _, ok := m.index[c]; ok {
		return
	}
	delete(m.index, m.claims[m.next])
	m.claims[m.next] = c
	m.index[c] = struct{}{}
	m.next = (m.next + 1) % len(m.claims)
}

func (m *memory) remove(c claim) { delete(m.index, c) }

func (m *memory) has(c claim) bool {
	_, ok := m.index[c]
	return ok
}

// schedule is a heap of held places by the end of their lease.
type schedule []*place

func (s schedule) end(i int) time.Time { return s[i].grant.Sent.Add(s[i].grant.TTL) }
func (s schedule) Len() int            { return len(s) }
func (s schedule) Less(i, j int) bool  { return s.end(i).Before(s.end(j)) }

func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = i, j
}

// Push is for container/heap.
func (s *schedule) Push(x any) {
	p := x.(*place)
	p.index = len(*s)
	*s = append(*s, p)
}

// Pop is for container/heap.
func (s *schedule) Pop() any {
	last := len(*s) - 1
	p := (*s)[last]
	*s = slices.Delete(*s, last, last+1)
	return p
}
