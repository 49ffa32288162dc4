package caslock

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/wake"
)

// waiter is an owner between a refused attempt and a grant or Release. Its fields but b are
// under b.mu.
type waiter struct {
	b      *backend
	placed bool              // it may have a place in the line
	joinAt time.Time         // when it must say again that it waits
	hint   string            // the version in which it is its turn
	woken  bool              // since its last attempt began
	held   driver.HeldError  // why its last attempt was refused
	restTo time.Time         // when it may look again without a message
	lookAt time.Time         // when it should make another attempt by itself
	turn   chan driver.Grant // nil before Turn
	timer  *time.Timer       // fires at lookAt
}

// waiter returns the waiter of the owner, or nil.
func (b *backend) waiter(owner string) *waiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiters[owner]
}

// newWaiter returns the waiter of an owner, which has or takes a place.
func (b *backend) newWaiter(owner string) *waiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiters[owner]
	if w == nil {
		w = &waiter{b: b}
		b.waiters[owner] = w
	}
	w.placed = true
	return w
}

// endWait forgets the waiter of the owner.
func (b *backend) endWait(owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.waiters[owner]; w != nil && w.timer != nil {
		w.timer.Stop()
	}
	delete(b.waiters, owner)
}

func (w *waiter) mustJoin() bool {
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	return !time.Now().Before(w.joinAt)
}

// join says for how long the place of w stands from now on.
func (w *waiter) join(stands time.Duration) {
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	w.joinAt = time.Now().Add(stands/6 + rand.N(stands/6+1)) // those who came together do not come back together
}

// takeHint begins an attempt. It returns the version in which it is the owner's turn, or "".
func (w *waiter) takeHint() (hint string) {
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	hint, w.hint, w.woken = w.hint, "", false
	return hint
}

// rest returns the last refusal if the owner need not ask again yet: messages tell it when its
// turn comes, and looks of its own only make good what is lost. See pace.
func (w *waiter) rest() *driver.HeldError {
	if w == nil || w.b.messenger == nil {
		return nil
	}
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	now := time.Now()
	if !w.placed || w.woken || !now.Before(w.restTo) || !now.Before(w.lookAt) {
		return nil
	}
	held := w.held
	held.RetryAfter = w.lookAt.Sub(now)
	return &held
}

// refused says why an attempt was refused, and how long that took.
func (w *waiter) refused(held *driver.HeldError, took time.Duration) {
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	now := time.Now()
	w.held, w.restTo, w.lookAt = *held, now.Add(pace*took), now.Add(held.RetryAfter+time.Millisecond)
	if w.placed && w.joinAt.Before(w.lookAt) {
		w.lookAt = w.joinAt
	}
	if next := now.Add(poll*7/8 + rand.N(poll/4)); w.b.messenger == nil && next.Before(w.lookAt) {
		w.lookAt = next
	}
	w.setTimer()
}

// setTimer makes the timer fire at lookAt. The caller has b.mu.
func (w *waiter) setTimer() {
	if w.turn == nil {
		return
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(time.Until(w.lookAt), w.wake)
		return
	}
	w.timer.Reset(time.Until(w.lookAt))
}

// wake tells the caller of Turn that another attempt may succeed.
func (w *waiter) wake() {
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	w.tell()
}

// tell is wake for a caller that has b.mu.
func (w *waiter) tell() {
	w.woken = true
	wake.Signal(w.turn)
}

// Turn implements driver.Waker. Beside messages it sends a value when a lease ends, and when
// the owner must say again that it waits.
func (b *backend) Turn(ctx context.Context, r driver.Request) <-chan driver.Grant {
	turn := make(chan driver.Grant, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiters[r.Owner]
	if w == nil { // TryAcquire was refused: a release since then was not told
		w = &waiter{b: b, woken: true, lookAt: time.Now().Add(poll)}
		b.waiters[r.Owner] = w
	}
	if w.turn = turn; w.woken {
		w.tell()
	}
	w.setTimer()
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if w.turn != turn {
			return
		}
		w.timer.Stop()
		if w.turn, w.timer = nil, nil; !w.placed && b.waiters[r.Owner] == w {
			delete(b.waiters, r.Owner)
		}
	})
	return turn
}
