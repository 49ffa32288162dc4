package sqllock

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/wake"
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
// learns of a release without asking again and again. Package pglisten has one.
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
	asked    chan struct{}
	ask      func()      // closes asked: there is a waiter
	works    atomic.Bool // a connection listens, so that waiters need not look often

	mu      sync.Mutex
	waiting map[string]*waiter // by the fingerprint of the owner
}

func newWakes(l Listener) *wakes {
	w := &wakes{listener: l, asked: make(chan struct{}), waiting: make(map[string]*waiter)}
	w.ask = sync.OnceFunc(func() { close(w.asked) })
	return w
}

// join makes a waiter for the owner, or returns the waiter that it has. A waiter joins
// before it takes its place, so that it misses nothing.
func (w *wakes) join(owner string) *waiter {
	w.ask()
	name := driver.Fingerprint(owner)
	w.mu.Lock()
	defer w.mu.Unlock()
	joined := w.waiting[name]
	if joined == nil {
		joined = &waiter{turn: make(chan driver.Grant, 1), began: time.Now()}
		joined.next = time.AfterFunc(touchInterval, func() { w.heard(name) })
		joined.end = time.AfterFunc(micros(deadAfter), func() { w.leave(owner) })
		w.waiting[name] = joined
	}
	return joined
}

// find returns the waiter for the owner; nil if it has none.
func (w *wakes) find(owner string) *waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		return nil // usually, and without the cost of the fingerprint
	}
	return w.waiting[driver.Fingerprint(owner)]
}

// spread is the shortest interval between the looks of a waiter: all together look 2,000
// times a second.
func (w *wakes) spread() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(len(w.waiting)) * time.Second / 2000
}

// leave ends the waiter for the owner, if it has one.
func (w *wakes) leave(owner string) {
	gone := w.find(owner)
	if gone == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if name := driver.Fingerprint(owner); w.waiting[name] == gone {
		delete(w.waiting, name)
		gone.end.Stop()
		close(gone.turn)
	}
}

// wakeOwners wakes the waiters for the owners that wait here.
func (w *wakes) wakeOwners(owners []string) {
	for _, owner := range owners {
		w.heard(driver.Fingerprint(owner))
	}
}

// listen keeps a connection from the first waiter on, until ctx ends.
func (w *wakes) listen(ctx context.Context) {
	select {
	case <-w.asked:
	case <-ctx.Done():
		return
	}
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		_ = w.listener.Listen(ctx, channel, w.begin, w.heard) // waiters look without it
		if w.works.Swap(false) {
			pause = minPause
		}
		if !clock.Sleep(ctx, pause/2+rand.N(pause)) {
			return
		}
	}
}

// begin notes that a connection works, and wakes all waiters: messages for them may
// have been missed.
func (w *wakes) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.works.Store(true)
	for _, joined := range w.waiting {
		wake.Signal(joined.turn)
	}
}

// heard wakes the waiter with that name if it waits here, and again if it does not
// look.
func (w *wakes) heard(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if joined := w.waiting[name]; joined != nil {
		wake.Signal(joined.turn)
		joined.next.Reset(touchInterval)
	}
}

// touchInterval is how often a waiter says that it is still there. While the key has no
// exclusive holder, others need to know sooner, and it says so at almost each look.
const touchInterval = time.Second

// waiter is an owner that waits in this process. It lasts from the first refusal until
// the owner is released, or for a minute without a look, as its place does.
type waiter struct {
	turn chan driver.Grant // receives when its turn may have come; has room for one
	next *time.Timer       // wakes it for its next look
	end  *time.Timer       // ends it

	began time.Time // when the wait did

	mu      sync.Mutex // locked during a look
	touched time.Time  // when the place was last said to be in use; zero before there is one
	first   time.Time  // since when it is the first in the queue; zero if it is not
	open    bool       // the last look has found only waiters: the next one may overtake them
}

// begin forgets the wake-ups before a look: the look sees what they were for.
func (w *waiter) begin() {
	w.next.Stop()
	w.end.Reset(micros(deadAfter))
	select {
	case <-w.turn:
	default:
	}
}

// found notes the key as a look has found it. It returns for how long the owner of r
// has been the first in the queue in vain.
func (w *waiter) found(e *entry, r *driver.Request) (inVain time.Duration) {
	w.open = e.opens(r) != 0
	if e.ahead(r.Owner) > 0 {
		w.first = time.Time{}
		return 0
	}
	if w.first.IsZero() {
		w.first = time.Now()
	}
	return time.Since(w.first)
}
