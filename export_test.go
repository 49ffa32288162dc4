package distlock

import (
	"errors"
	"time"

	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/localqueue"
)

// Keys returns how many keys have holders or waiters in this process.
func (locker *Locker) Keys() int {
	keys, _ := locker.queue.Counts()
	return keys
}

// Waiting returns how many goroutines of this process wait at the gate for any key.
func (locker *Locker) Waiting() int {
	_, waiting := locker.queue.Counts()
	return waiting
}

// Watched returns how many leases the watchdog manages.
func (locker *Locker) Watched() int { return len(locker.watchdog.watched()) }

var (
	Margin  = clock.Margin
	KeepFor = keepFor
)

// ReleaseTimeout limits one attempt to release a key.
const ReleaseTimeout time.Duration = releaseTimeout

// SetClock makes the watchdog use another clock. It must be called before anything is
// held.
func (locker *Locker) SetClock(now func() time.Time) { locker.watchdog.now = now }

// LoseAll ends every lease, as a denied renewal would.
func (locker *Locker) LoseAll() {
	for _, h := range locker.watchdog.watched() {
		_ = h.Lose(errTaken)
	}
}

// LoseOnItsWay ends the lease of the key if it was handed over, and the waiter that gets
// it has not come for it yet. It returns whether that was so.
func (locker *Locker) LoseOnItsWay(key string) bool {
	locker.leases.mu.Lock() // keeps the waiter from coming
	defer locker.leases.mu.Unlock()
	for s := locker.leases.first[locker.leases.bucket(key)]; s != nil; s = s.node.next {
		if !s.ended.Load() {
			return false
		}
	}
	lost := false
	for _, h := range locker.watchdog.watched() {
		if holders, _ := h.Holders(time.Now()); h.Key() == key && len(holders) == 0 {
			lost = errors.Is(h.Lose(errTaken), errTaken) || lost
		}
	}
	return lost
}

// Stop delays the cancellation of the lease's context until the returned function is
// called: of a release when it has begun, of a loss when the lease has ended.
func (lease *Lease) Stop() (goOn func()) {
	lease.ctx.mu.Lock()
	return lease.ctx.mu.Unlock
}

// StopWatchdog blocks operations that the watchdog takes part in: for example a
// release, when it has been decided that the lease goes back to the store.
func (locker *Locker) StopWatchdog() (goOn func()) {
	locker.watchdog.mu.Lock()
	return locker.watchdog.mu.Unlock
}

// StopLeases delays callers that are admitted, and Close. It also returns a channel that is
// closed when Close has begun.
func (locker *Locker) StopLeases() (goOn func(), closed <-chan struct{}) {
	locker.leases.mu.Lock()
	return locker.leases.mu.Unlock, locker.life.ctx.Done()
}

// HoldIsOver reports whether the lease has ended in the store.
func (lease *Lease) HoldIsOver() bool {
	return lease.state.Check(time.Now()) != nil
}

// LimitKeys sets the limit of keys before the first use.
func (locker *Locker) LimitKeys(n int) {
	locker.queue = localqueue.New[*leaseState](n, locker.cfg.MaxWaiters)
}

// ValidAt reports whether the lease is valid at the given time.
func (lease *Lease) ValidAt(now time.Time) bool { return lease.overAt(now) == nil }

// UnderWay returns how many acquisitions, leases and clean-ups Close would wait for,
// and how many leases it would cancel.
func (locker *Locker) UnderWay() (all, leases int) {
	locker.life.mu.Lock()
	defer locker.life.mu.Unlock()
	return locker.life.n + locker.life.cleaning, len(locker.leases.all())
}

// The bounds of what is in doubt.
const (
	MaxDoubts   = maxDoubts
	MaxAttempts = maxAttempts
)

// Doubts returns how many grants are in doubt.
func (locker *Locker) Doubts() int {
	locker.releaser.doubts.mu.Lock()
	defer locker.releaser.doubts.mu.Unlock()
	return len(locker.releaser.doubts.all)
}
