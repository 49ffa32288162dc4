package sqllock

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// The pause before a listener connects again is doubled from minPause to maxPause while
// no connection works.
const (
	minPause = 50 * time.Millisecond
	maxPause = 5 * time.Second
)

// mostMessages is how many waiters a release sends a message to. The others look at the
// key at their next interval.
const mostMessages = 16

// channel is what waiters listen to. Tables may share it: a message for a waiter of
// another table wakes no one.
const channel = "distlock"

// Listener receives the messages that PostgreSQL sends with NOTIFY, so that a waiter
// learns of a release without asking for it again and again. The package pglisten has
// one.
type Listener interface {
	// Listen opens a connection of its own and listens to the channel. It calls
	// listening as soon as no later message is missed, and heard with the payload of
	// each message. It returns when ctx ends or the connection fails, always with an
	// error, and calls neither function after that.
	Listen(ctx context.Context, channel string, listening func(), heard func(payload string)) error
}

// wakes passes the messages of a listener, and what happens in this process, on to
// waiters. A message may get lost, and may come without a reason.
type wakes struct {
	listener Listener // nil: there are no messages

	mu      sync.Mutex
	waiting map[string]*waiter // by the fingerprint of the owner
	works   bool               // a connection listens
	end     context.CancelFunc // nil before the first waiter
	ended   chan struct{}
	closed  bool
}

// waiter is a call of Acquire.
type waiter struct {
	woken chan struct{} // has room for one, and receives when the owner's turn may have come
}

func newWakes(l Listener) *wakes {
	return &wakes{listener: l, waiting: make(map[string]*waiter)}
}

// join returns a waiter for the owner. The first call opens the connection of the
// listener. A waiter joins before it takes its place, so that it misses nothing, and calls
// leave at the end.
func (w *wakes) join(ctx context.Context, owner string) (joined *waiter, leave func()) {
	name := driver.Fingerprint(owner)
	joined = &waiter{woken: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting[name] = joined
	if w.listener != nil && w.end == nil && !w.closed {
		ctx, end := context.WithCancel(context.WithoutCancel(ctx))
		w.end, w.ended = end, make(chan struct{})
		go w.listen(ctx)
	}
	return joined, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.waiting[name] == joined {
			delete(w.waiting, name)
		}
	}
}

// wakeOwners wakes the waiters for the owners that wait here.
func (w *wakes) wakeOwners(owners []string) {
	for _, owner := range owners {
		w.heard(driver.Fingerprint(owner))
	}
}

// working reports whether messages arrive, so that waiters need not look often.
func (w *wakes) working() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.works
}

// close closes the connection and waits until that is done.
func (w *wakes) close() {
	w.mu.Lock()
	w.closed = true
	end, ended := w.end, w.ended
	w.mu.Unlock()
	if end != nil {
		end()
		<-ended
	}
}

// listen keeps a connection until ctx ends.
func (w *wakes) listen(ctx context.Context) {
	defer close(w.ended)
	pause := minPause
	for {
		_ = w.listener.Listen(ctx, channel, w.begin, w.heard) // waiters look without it
		if w.fail() {
			pause = minPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, maxPause)
	}
}

// begin notes that a connection works, and wakes all waiters: messages for them may have
// been missed.
func (w *wakes) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.works = true
	for _, joined := range w.waiting {
		joined.wake()
	}
}

// fail notes that no connection works, and returns whether one did.
func (w *wakes) fail() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	worked := w.works
	w.works = false
	return worked
}

// heard wakes the waiter that a message is for, if it waits here.
func (w *wakes) heard(payload string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if joined := w.waiting[payload]; joined != nil {
		joined.wake()
	}
}

func (w *waiter) wake() {
	select {
	case w.woken <- struct{}{}:
	default: // it is woken already
	}
}
