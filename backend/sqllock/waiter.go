package sqllock

import (
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// touchInterval is how often a waiter says that it is still there. While the key has no
// exclusive holder, others need to know sooner, and it says so at almost each look.
const touchInterval = time.Second

// looksToOvertake is how often a waiter finds only other waiters in its way before it
// overtakes them. Where everything is slow, they may only be late.
const looksToOvertake = 2

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
	open    int        // how many looks, one after the other, have found only waiters in the way
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
	if w.open++; e.opens(r) == 0 {
		w.open = 0
	}
	if e.ahead(r.Owner) > 0 {
		w.first = time.Time{}
		return 0
	}
	if w.first.IsZero() {
		w.first = time.Now()
	}
	return time.Since(w.first)
}

// patient reports whether the next look overtakes no waiter that may only be late.
func (w *waiter) patient() bool { return w.open < looksToOvertake-1 }
