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

// wakes passes the messages of a listener on to waiters. A message may get lost, and may
// come without a reason.
type wakes struct {
	listener Listener // nil: there are no messages

	mu      sync.Mutex
	waiting map[string]chan struct{} // by the fingerprint of the owner
	works   bool                     // a connection listens
	end     context.CancelFunc       // nil before the first waiter
	ended   chan struct{}
	closed  bool
}

func newWakes(l Listener) *wakes {
	return &wakes{listener: l, waiting: make(map[string]chan struct{})}
}

// join returns a channel of capacity 1 that receives when the owner's place may have come
// to the front. The first call opens the connection of the listener. A waiter joins
// before it takes its place, so that it misses nothing, and calls leave at the end.
func (w *wakes) join(ctx context.Context, owner string) (woken <-chan struct{}, leave func()) {
	if w.listener == nil {
		return nil, func() {}
	}
	name, c := driver.Fingerprint(owner), make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting[name] = c
	if w.end == nil && !w.closed {
		ctx, end := context.WithCancel(context.WithoutCancel(ctx))
		w.end, w.ended = end, make(chan struct{})
		go w.listen(ctx)
	}
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.waiting, name)
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
	for _, c := range w.waiting {
		wake(c)
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
	if c, ok := w.waiting[payload]; ok {
		wake(c)
	}
}

func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is woken already
	}
}
