package leasestate

import (
	"sync"
	"sync/atomic"
	"time"
)

// RoundTrip estimates from the time that requests take what it costs to pass a key to
// another process. The zero value is ready. It is safe for concurrent use.
//
// No process can measure that cost: between its release and the next grant to it, others
// held the key. Of the requests that it can measure, the release fits best: each change
// begins with one, and it never waits for another owner. But while the answer is on its way
// the next owner works, perhaps on the same processors. So only the fastest of many releases
// counts.
type RoundTrip struct {
	least atomic.Int64 // time.Duration; of the window before; 0: there was none

	mu   sync.Mutex
	n    int           // requests since least was set
	next time.Duration // of the n requests
}

// window is the number of requests of which the fastest counts. If the store becomes
// faster, that counts at once; if it becomes slower, at the end of a window.
const window = 64

// Add adds the time that one request took. Of calls at the same moment one counts: an estimate
// is not worth a wait.
func (r *RoundTrip) Add(d time.Duration) {
	if !r.mu.TryLock() {
		return
	}
	defer r.mu.Unlock()
	if r.n == 0 || d < r.next {
		r.next = d
	}
	if r.n++; r.n == window {
		r.n = 0
	} else if r.least.Load() <= int64(r.next) {
		return
	}
	r.least.Store(int64(r.next))
}

// minTime returns how long a process should keep a lease that others wait for: ten times
// what a change of process takes, so that the holders have the key for nine tenths of the
// time. A change takes about four of the fastest round trips: there are two round trips, or
// one and a message, and processes that are busy and have to be woken. Before the end of
// the first window minTime returns 0.
func (r *RoundTrip) minTime() time.Duration {
	return 10 * 4 * time.Duration(r.least.Load())
}
