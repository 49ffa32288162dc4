package distlock

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// gate is the queue inside one process: for each key it lets goroutines through
// to the backend and keeps the others in order of arrival. Inside is one at a
// time; or readers, of whom one at a time asks the backend while those who can
// ride on a hold that is there already; or as many as a semaphore has permits.
// Whoever is inside stays so until it passes the gate on, whatever became of its
// lease, so two holders that exclude each other never overlap in this process
// (promise P8).
//
// Whoever leaves may pass on more than the gate: the hold that it has, so that
// the next needs no round trip to the store.
type gate struct {
	maxKeys    int
	maxWaiters int
	waiting    atomic.Int64 // waiters that are still counted, for all keys
	waiters    sync.Pool    // each has a channel, so they are used again

	mu     sync.Mutex
	lines  map[string]*line // present: somebody is inside; nil: one alone, and nobody waits
	closed bool
}

// turn is what a waiter gets in the end: the gate, perhaps with a hold, or word
// that the gate is closed for ever.
type turn struct {
	hold   *hold
	closed bool
}

// errShut says that the gate is shut for a caller that does not wait.
var errShut = errors.New("the gate is shut")

func newGate(maxKeys, maxWaiters int) *gate {
	g := &gate{maxKeys: maxKeys, maxWaiters: maxWaiters, lines: make(map[string]*line)}
	g.waiters.New = func() any { return &waiter{turns: make(chan turn, 1)} }
	return g
}

// enter takes the gate for key, perhaps with a hold to ride on, or joins the line
// before it: then it returns a waiter whose turn will come. If most is 0 it joins
// no line and the error is errShut. A hold is handed over, or ridden on, only
// with the same terms.
func (g *gate) enter(key string, t terms, most int) (*waiter, *hold, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, nil, ErrClosed
	}
	ln, shut := g.lines[key]
	if !shut {
		if len(g.lines) >= g.maxKeys {
			return nil, nil, fmt.Errorf("%w: %d keys in use (MaxKeys)", ErrQueueFull, len(g.lines))
		}
		if t.mode != Exclusive || t.permits > 0 {
			ln = &line{}
			ln.let(&t)
		}
		g.lines[key] = ln
		return nil, nil, nil
	}
	if ln != nil && ln.head == nil {
		if h, ok := ln.admit(&t); ok {
			return nil, h, nil
		}
	}
	if most == 0 {
		if ln.admitsAside(&t) {
			ln.let(&t)
			return nil, nil, nil
		}
		return nil, nil, errShut
	}
	ln = g.line(key)
	if ln.n >= most {
		return nil, nil, fmt.Errorf("%w: %d wait (MaxWaiters)", ErrQueueFull, ln.n)
	}
	if n := g.waiting.Load(); n >= int64(g.maxWaiters) {
		return nil, nil, fmt.Errorf("%w: %d wait (Config.MaxWaiters)", ErrQueueFull, n)
	}
	g.waiting.Add(1)
	w := g.waiters.Get().(*waiter) //nolint:forcetypeassert // nothing else is in there
	w.terms = t
	ln.push(w)
	return w, nil, nil
}

// line returns the line of a key that somebody is inside with. The caller has the
// mutex.
func (g *gate) line(key string) *line {
	ln := g.lines[key]
	if ln == nil {
		ln = &line{inside: 1}
		g.lines[key] = ln
	}
	return ln
}

// forget takes back a waiter whose turn has come, or who has left the line.
func (g *gate) forget(w *waiter) {
	g.waiting.Add(-1)
	g.waiters.Put(w)
}

// leave gives up w's place. It returns false if w's turn had come already; then
// the gate is the caller's, who must pass it on with what the turn brought.
func (g *gate) leave(key string, w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !w.queued {
		return false
	}
	ln := g.lines[key]
	ln.remove(w)
	ln.advance() // those who waited because w did
	return true
}

// handOver gives the gate together with h to the first in line, if that one
// wants the same and h is fit for it. It returns false if not; then the gate is
// still the caller's, and if there is a channel, asking again when it is closed
// may help.
func (g *gate) handOver(key string, h *hold, now time.Time) (bool, <-chan struct{}) {
	w, answer := g.successor(key, h, now)
	if w == nil {
		return false, answer
	}
	w.turns <- turn{hold: h} // not under the mutex, which w is about to take
	return true, nil
}

// successor takes the first out of the line if h can be handed over to it.
func (g *gate) successor(key string, h *hold, now time.Time) (*waiter, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ln := g.lines[key]
	if ln == nil || ln.head == nil || ln.head.terms != h.terms {
		return nil, nil
	}
	ok, answer := h.vacate(now)
	if !ok {
		return nil, answer
	}
	return ln.shift(), nil
}

// pass gives the gate alone to the first in line, and to those who may come in
// with it, or opens it. The caller was inside; asking says that it was a reader
// that had the backend to ask.
func (g *gate) pass(key string, asking bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ln := g.lines[key]
	if ln == nil {
		delete(g.lines, key)
		return
	}
	ln.inside--
	if asking {
		ln.asking--
	}
	ln.advance()
	if ln.inside == 0 {
		delete(g.lines, key)
	}
}

// asks is called by a reader inside whose hold was lost before it could ride on
// it, and who asks the backend now.
func (g *gate) asks(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lines[key].asking++
}

// answered is called by a reader who has asked the backend and was given h. Others
// may ride on it from now on, beginning with those who wait.
func (g *gate) answered(key string, h *hold) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ln := g.lines[key]
	ln.asking--
	if h.terms.rides() {
		ln.open = h
	}
	ln.advance()
}

// close sends everybody away who waits, or will come.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, ln := range g.lines {
		for ln != nil && ln.head != nil {
			ln.shift().turns <- turn{closed: true}
		}
	}
}

// told sets what waiters that give up at the gate are told: what the store last answered
// to the waiter inside, which is an error or the holder of the key. It is valid until
// then, or until told is called with nil.
func (g *gate) told(key string, err error, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ln := g.line(key)
	ln.said, ln.at, ln.fresh = err, time.Now(), until
}

// refusal returns the error for a waiter that gives up while no holder in this process
// has the key.
func (g *gate) refusal(key string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lines[key].refusal(time.Now())
}
