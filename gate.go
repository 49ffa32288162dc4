package distlock

import (
	"fmt"
	"sync"
	"time"
)

// gate is the queue inside one process: for each key it lets one goroutine
// through to the backend and keeps the others in order of arrival. It stays
// shut until the one inside passes it on, whatever became of its lease, so two
// holders of one key never overlap in this process (promise P8).
//
// Whoever leaves may pass on more than the gate: the hold that it has, so that
// the next needs no round trip to the store.
type gate struct {
	maxKeys int

	mu    sync.Mutex
	lines map[string]*line // present: shut; nil: nobody waits
}

// line is the waiters for one key, first come first.
type line struct {
	head, tail *waiter
	n          int

	trouble error // why the one inside cannot ask the backend
	fresh   time.Time
}

// waiter is one goroutine's place in a line.
type waiter struct {
	terms      terms
	turn       chan *hold // receives once, when the gate is this waiter's; nil: without a hold
	prev, next *waiter
	queued     bool
}

func newGate(maxKeys int) *gate {
	return &gate{maxKeys: maxKeys, lines: make(map[string]*line)}
}

// enter takes the gate for key, or joins the line before it: then it returns a
// waiter whose turn will come. If most is 0 it joins no line and the error is
// a HeldError. A hold is handed over only to a waiter with the same terms.
func (g *gate) enter(key string, t terms, most int) (*waiter, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ln, shut := g.lines[key]
	if !shut {
		if len(g.lines) >= g.maxKeys {
			return nil, fmt.Errorf("%w: %d keys in use (MaxKeys)", ErrQueueFull, len(g.lines))
		}
		g.lines[key] = nil
		return nil, nil //nolint:nilnil // no waiter: the gate is the caller's
	}
	if most == 0 {
		return nil, ln.refusal()
	}
	if ln == nil {
		ln = &line{}
		g.lines[key] = ln
	}
	if ln.n >= most {
		return nil, fmt.Errorf("%w: %d wait (MaxWaiters)", ErrQueueFull, ln.n)
	}
	w := &waiter{terms: t, turn: make(chan *hold, 1)}
	ln.push(w)
	return w, nil
}

// leave gives up w's place. It returns false if w's turn had come already; then
// the gate is the caller's, who must pass it on with what the turn brought.
func (g *gate) leave(key string, w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !w.queued {
		return false
	}
	g.lines[key].remove(w)
	return true
}

// handOver gives the gate together with h to the first in line, if that one
// wants the same and h is fit for it. It returns false if not; then the gate is
// still the caller's.
func (g *gate) handOver(key string, h *hold) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	ln := g.lines[key]
	if ln == nil || ln.head == nil || ln.head.terms != h.terms || !h.vacate() {
		return false
	}
	ln.shift().turn <- h
	return true
}

// pass gives the gate alone to the first in line, or opens it.
func (g *gate) pass(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ln := g.lines[key]
	if ln == nil || ln.head == nil {
		delete(g.lines, key)
		return
	}
	ln.shift().turn <- nil
}

// troubled has those who give up before the gate told that not another holder
// but a failing backend kept them, until then or until it is called with nil.
func (g *gate) troubled(key string, err error, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lines[key] == nil {
		g.lines[key] = &line{}
	}
	ln := g.lines[key]
	ln.trouble, ln.fresh = err, until
}

// refusal is what somebody is told who gives up waiting for the key.
func (g *gate) refusal(key string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lines[key].refusal()
}

func (l *line) refusal() error {
	if l != nil && l.trouble != nil && time.Now().Before(l.fresh) {
		return unavailable(l.trouble)
	}
	return &HeldError{}
}

func (l *line) shift() *waiter {
	w := l.head
	l.remove(w)
	return w
}

func (l *line) push(w *waiter) {
	w.queued, w.prev = true, l.tail
	if l.tail == nil {
		l.head = w
	} else {
		l.tail.next = w
	}
	l.tail = w
	l.n++
}

func (l *line) remove(w *waiter) {
	if w.prev == nil {
		l.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.queued, w.prev, w.next = false, nil, nil
	l.n--
}
