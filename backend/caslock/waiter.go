package caslock

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/wake"
)

// pace limits how often a waiter looks by itself: each look is followed by a rest of so many
// times its length. Looks of hundreds of waiters would make a slow store slower otherwise,
// until nothing else gets through.
const pace = 200

// waiter is an owner between an attempt that failed and a grant or Release. Its fields but b are
// under b.mu, and its methods may be called without a waiter.
type waiter struct {
	b      *backend
	placed bool              // it may have a place in the line
	unsure bool              // an attempt had no answer, and may still arrive
	joinAt time.Time         // when it must say again that it waits
	hint   string            // the version in which it is its turn
	woken  bool              // since its last attempt began
	held   driver.HeldError  // why its last attempt was refused
	restTo time.Time         // when it may look again without a message
	lookAt time.Time         // when it should make another attempt by itself
	turn   chan driver.Grant // of Turn
	timer  *time.Timer       // wakes it at lookAt
}

// waiter returns the waiter of the owner, or nil.
func (b *backend) waiter(owner string) *waiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiters[owner]
}

// newWaiter returns the waiter of an owner, which has or takes a place if placed is set.
func (b *backend) newWaiter(owner string, placed bool) *waiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiters[owner]
	if w == nil {
		w = &waiter{b: b, turn: make(chan driver.Grant, 1), lookAt: time.Now().Add(poll)}
		w.timer = time.AfterFunc(poll, func() { b.locked(w.wake) })
		b.waiters[owner] = w
	}
	w.placed = w.placed || placed
	return w
}

// endWait forgets the waiter of the owner.
func (b *backend) endWait(owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.waiters[owner]; w != nil {
		w.timer.Stop()
	}
	delete(b.waiters, owner)
}

func (w *waiter) mustJoin() bool {
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	return !time.Now().Before(w.joinAt)
}

// joined says that its place stands from now on.
func (w *waiter) joined() {
	w.b.locked(func() { w.joinAt = time.Now().Add(stands/6 + rand.N(stands/6)) }) // those who came together do not come back together
}

// passed says that its place is gone.
func (w *waiter) passed() { w.b.locked(func() { w.joinAt = time.Time{} }) }

// takeHint begins an attempt. It returns the version in which it is the owner's turn, or "".
func (w *waiter) takeHint() (hint string) {
	if w != nil {
		w.b.locked(func() { hint, w.hint, w.woken = w.hint, "", false })
	}
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
	if w == nil {
		return
	}
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	now := time.Now()
	w.held, w.restTo = *held, now.Add(pace*took)
	look := held.RetryAfter + time.Millisecond
	if w.placed {
		look = min(look, w.joinAt.Sub(now))
	}
	if w.b.messenger == nil || !w.placed {
		look = min(look, poll*7/8+rand.N(poll/4))
	}
	w.look(now.Add(look))
}

// look makes the waiter look at a time. The caller has b.mu.
func (w *waiter) look(at time.Time) {
	w.lookAt = at
	w.timer.Reset(time.Until(at))
}

// wake tells the waiter that another attempt may succeed. The caller has b.mu.
func (w *waiter) wake() {
	w.woken = true
	wake.Signal(w.turn)
}

// Turn implements driver.Waker. Beside messages it sends a value when a lease ends, and when
// the owner must say again that it waits.
func (b *backend) Turn(ctx context.Context, r driver.Request) <-chan driver.Grant {
	w := b.newWaiter(r.Owner, false)
	b.locked(func() {
		if !w.placed { // TryAcquire was refused: a release since then was not told
			w.wake()
		}
	})
	context.AfterFunc(ctx, func() {
		b.locked(func() {
			if !w.placed {
				w.timer.Stop()
				delete(b.waiters, r.Owner)
			}
		})
	})
	return w.turn
}
