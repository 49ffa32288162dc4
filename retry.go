package distlock

import (
	"math/rand/v2"
	"time"
)

// Backoff is the wait budget of one acquisition: a first attempt at once, then
// at most attempts-1 intervals, each drawn uniformly from [interval,
// 2*interval) so that waiters who failed together do not come back together.
// Each interval ends with an attempt; there is no wait after the last. An
// attempt that follows a wake-up is free: it ends no interval.
//
// The intervals follow each other from [NewBackoff] on, so slow attempts do not
// stretch the budget: of the intervals that have passed during one attempt, the
// next attempt ends all. A Backoff is not safe for concurrent use.
type Backoff struct {
	interval  time.Duration
	unlimited bool
	left      int       // intervals not yet begun
	next      time.Time // end of the present interval
	told      bool      // Wait has spoken of the attempt that ends it
}

// NewBackoff starts a wait budget of the given attempts; 0 means no limit, 1
// means one attempt and no wait. The interval must be positive.
func NewBackoff(interval time.Duration, attempts int) *Backoff {
	b := &Backoff{}
	b.start(interval, attempts)
	return b
}

func (b *Backoff) start(interval time.Duration, attempts int) {
	*b = Backoff{interval: interval, unlimited: attempts == 0, left: attempts - 1, told: true}
	b.begin(time.Now())
}

// begin starts the next interval. It returns false if there is none.
func (b *Backoff) begin(now time.Time) bool {
	if !b.unlimited && b.left <= 0 {
		return false
	}
	b.left--
	b.next = now.Add(b.interval + rand.N(b.interval))
	b.told = false
	return true
}

// Wait returns how long to wait before the next attempt unless woken earlier:
// what is left of the present interval or, if that has ended, of a new one. It
// returns false if the budget is spent.
func (b *Backoff) Wait() (time.Duration, bool) {
	now := time.Now()
	if b.told && !now.Before(b.next) { // the attempt that ends it was made
		from := b.next
		if b.unlimited {
			from = now
		}
		if !b.begin(from) {
			return 0, false
		}
	}
	for !b.unlimited && !now.Before(b.next) {
		if !b.begin(b.next) {
			break
		}
	}
	b.told = true
	return max(b.next.Sub(now), 0), true
}
