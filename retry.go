package distlock

import (
	"math/rand/v2"
	"time"
)

// Backoff is the wait budget of one acquisition: a first attempt at once, then
// at most attempts-1 intervals, each drawn uniformly from [interval,
// 2*interval) so that waiters who failed together do not come back together.
// An attempt that follows a wake-up is free: it ends no interval. There is no
// wait after the last attempt.
//
// The first interval starts with [NewBackoff], so slow attempts do not stretch
// the budget. A Backoff is not safe for concurrent use.
type Backoff struct {
	interval  time.Duration
	unlimited bool
	left      int       // intervals not yet begun
	next      time.Time // end of the present interval
	told      bool      // Wait has spoken of the present interval
}

// NewBackoff starts a wait budget of the given attempts; 0 means no limit, 1
// means one attempt and no wait. The interval must be positive.
func NewBackoff(interval time.Duration, attempts int) *Backoff {
	b := &Backoff{}
	b.start(interval, attempts)
	return b
}

func (b *Backoff) start(interval time.Duration, attempts int) {
	*b = Backoff{interval: interval, unlimited: attempts == 0, left: attempts - 1}
	if b.unlimited || b.left > 0 {
		b.begin(time.Now())
	}
}

func (b *Backoff) begin(now time.Time) {
	b.left--
	b.next = now.Add(b.interval + rand.N(b.interval))
}

// Wait returns how long to wait before the next attempt unless woken earlier:
// what is left of the present interval or, if that has ended, a new one. It
// returns false if the budget is spent.
func (b *Backoff) Wait() (time.Duration, bool) {
	now := time.Now()
	if d := b.next.Sub(now); d > 0 {
		b.told = true
		return d, true
	}
	if !b.told && !b.next.IsZero() { // it ended during the first attempt: the second is due
		b.told = true
		return 0, true
	}
	if !b.unlimited && b.left <= 0 {
		return 0, false
	}
	b.begin(now)
	return b.next.Sub(now), true
}
