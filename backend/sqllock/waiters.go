package sqllock

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
)

// mostMessages is how many waiters a release sends a message to. The others look at the
// key at their next interval.
const mostMessages = 16

// waiters has the calls of Acquire that wait in this process.
type waiters struct {
	mu        sync.Mutex
	all       map[string]*waiter // by message
	listening bool               // a Listener hears of releases
}

// waiter is a call of Acquire.
type waiter struct {
	message  string
	woken    chan struct{} // has room for one
	released chan struct{} // closed when Release was called for the owner
}

func newWaiters() *waiters { return &waiters{all: make(map[string]*waiter)} }

// message returns what says that an owner may have the key. It tells others neither.
func message(key, owner string) string {
	digest := sha256.Sum256([]byte(key + "\x00" + owner))
	return hex.EncodeToString(digest[:16])
}

// add returns a waiter for the owner. A second call for the same owner takes the place of
// the first, which goes on, but is not woken.
func (ws *waiters) add(key, owner string) *waiter {
	w := &waiter{message: message(key, owner), woken: make(chan struct{}, 1), released: make(chan struct{})}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.all[w.message] = w
	return w
}

func (ws *waiters) remove(w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.all[w.message] == w {
		delete(ws.all, w.message)
	}
}

// release ends the call for the owner if there is one.
func (ws *waiters) release(key, owner string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if len(ws.all) == 0 {
		return
	}
	m := message(key, owner)
	if w := ws.all[m]; w != nil {
		delete(ws.all, m)
		close(w.released)
	}
}

// wake makes the waiter with that message look at the key.
func (ws *waiters) wake(message string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w := ws.all[message]; w != nil {
		w.wake()
	}
}

func (ws *waiters) wakeOwners(key string, owners []string) {
	for _, owner := range owners {
		ws.wake(message(key, owner))
	}
}

// connected notes whether messages arrive. When they begin to arrive all waiters look,
// because messages before may be lost.
func (ws *waiters) connected(yes bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.listening = yes
	for _, w := range ws.all {
		w.wake()
	}
}

func (ws *waiters) isListening() bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.listening
}

func (w *waiter) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

func (w *waiter) isReleased() bool {
	select {
	case <-w.released:
		return true
	default:
		return false
	}
}
