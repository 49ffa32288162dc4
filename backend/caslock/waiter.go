package caslock

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/wake"
)

// pace limits how often a waiter looks by itself: each look is followed by a rest of so many
// times its length. Looks of hundreds of waiters would make a slow store slower otherwise,
// until nothing else gets through.
const pace = 200

// anyVersion is the hint of a waiter that should look, in whatever version the cell has.
const anyVersion = "?"

// waiter is an owner between an attempt that failed and a grant or Release. Its fields are under
// the mutex of the waiters; joinAt is its own.
type waiter struct {
	placed bool              // it may have a place in the line
	unsure bool              // an attempt had no answer, and may still arrive
	joinAt time.Time         // when it must say again that it waits
	hint   string            // the version in which it is its turn; it was woken since its last attempt began
	held   driver.HeldError  // why its last attempt was refused
	lookAt time.Time         // when it looks by itself
	turn   chan driver.Grant // of Turn
}

// waiters is the owners of this process that are known to wait.
type waiters struct {
	mu  sync.Mutex
	all map[string]*waiter // by owner
}

// locked calls f with the mutex.
func (ws *waiters) locked(f func()) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	f()
}

// waiter returns the waiter of the owner, or a new one that nobody knows yet.
func (ws *waiters) waiter(owner string) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w := ws.all[owner]; w != nil {
		return w
	}
	return &waiter{turn: make(chan driver.Grant, 1)}
}

// rest returns the last refusal if the waiter need not ask again yet: messages tell it when its
// turn comes, and looks of its own only make good what is lost. See pace.
func (ws *waiters) rest(w *waiter) *driver.HeldError {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	now := time.Now()
	if !w.placed || w.hint != "" || !now.Before(w.lookAt) {
		return nil
	}
	held := w.held
	held.RetryAfter = w.lookAt.Sub(now)
	return &held
}

// refused notes why an attempt of the waiter was refused, and how long that took. It says in
// held when the waiter should look by itself.
func (ws *waiters) refused(w *waiter, held *driver.HeldError, took time.Duration) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w.placed {
		pause := max(2*turnTime, min(pace*took, 10*turnTime))
		held.RetryAfter = max(time.Millisecond, min(held.RetryAfter, pause/2+rand.N(pause)))
		w.held, w.lookAt = *held, time.Now().Add(held.RetryAfter)
	}
}

// Turn implements driver.Waker.
func (ws *waiters) Turn(_ context.Context, r driver.Request) <-chan driver.Grant {
	return ws.waiter(r.Owner).turn
}

// wake tells the waiter that another attempt may succeed, in that version. The caller has the
// mutex.
func (w *waiter) wake(version string) {
	w.hint = version
	wake.Signal(w.turn)
}
