package leasestate

import (
	"sync"
	"time"
)

// Limits say how long a lease may be handed over in this process before the store is
// asked again, so that other processes get their turn: for one range of tokens,
// [MinHandOvers] times, or as often as fits in MinTime if that is more. The zero value
// means never.
type Limits struct {
	MinTime time.Duration // since the range began
	MaxTime time.Duration // since this process got the lease
	Extend  bool          // the store can be asked whether other owners wait
}

const (
	// MinHandOvers is how often a lease is handed over although MinTime is over. If it
	// changed the process after every holder that takes as long as MinTime, the changes
	// would cost a tenth of the time.
	MinHandOvers = 64

	// measuredTokens is enough for a MinTime of 3 ms and holders that take 3 µs.
	measuredTokens = 1024
)

// NewLimits returns limits that follow the cost of a change of process, which is estimated
// from r. If maxTime is negative, nothing is handed over.
func NewLimits(maxTime time.Duration, extend bool, r *RoundTrip) Limits {
	if maxTime < 0 {
		return Limits{}
	}
	return Limits{MinTime: r.minTime(), MaxTime: maxTime, Extend: extend}
}

// Tokens returns how many fencing tokens a lease needs, for the same maxTime as in
// [NewLimits].
func Tokens(maxTime time.Duration) int {
	if maxTime < 0 {
		return 1
	}
	return measuredTokens
}

// RoundTrip estimates from the time that requests take what it costs to pass a key to
// another process. The zero value is ready. It is safe for concurrent use.
//
// No process can measure that cost: between its release and the next grant to it, others
// held the key. Of the requests that it can measure, the release fits best: each change
// begins with one, and it never waits for another owner. But while the answer is on its way
// the next owner works, perhaps on the same processors. So only the fastest of many releases
// counts.
type RoundTrip struct {
	mu    sync.Mutex
	n     int           // requests since least was set
	least time.Duration // of the window before; 0: there was none
	next  time.Duration // of the n requests
}

// window is the number of requests of which the fastest counts. If the store becomes
// faster, that counts at once; if it becomes slower, at the end of a window.
const window = 64

// Add adds the time that one request took.
func (r *RoundTrip) Add(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == 0 || d < r.next {
		r.next = d
	}
	r.least = min(r.least, r.next)
	if r.n++; r.n == window {
		r.n, r.least = 0, r.next
	}
}

// minTime returns how long a process should keep a lease that others wait for: ten times
// what a change of process takes, so that the holders have the key for nine tenths of the
// time. A change takes about four of the fastest round trips: there are two round trips, or
// one and a message, and processes that are busy and have to be woken. Before the end of
// the first window minTime returns 0.
func (r *RoundTrip) minTime() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return 10 * 4 * r.least
}
