package distlock

import (
	"math/rand/v2"
	"time"
)

// budget is the wait budget of one acquisition: a first attempt at once, then
// at most attempts-1 intervals, each drawn uniformly from [interval,
// 2*interval) so that waiters that failed together do not return together.
// Each interval ends with an attempt; there is no wait after the last. An
// attempt that follows a wake-up is free: it ends no interval.
//
// The intervals follow each other from the start of the budget, so slow attempts do not
// extend it: the next attempt ends all intervals that passed during one attempt. A
// maximum wait ends the budget even if attempts are left; there is a last attempt at its
// end. A budget is not safe for concurrent use.
type budget struct {
	interval  time.Duration
	unlimited bool
	announced bool          // wait has announced the attempt that ends the present interval
	left      int           // intervals not yet begun
	next      time.Time     // end of the present interval
	maxWait   time.Duration // 0: no limit
	until     time.Time     // when maxWait is over; zero: no limit
}

// start starts b anew: with the given attempts, where 0 means no limit and 1 means one
// attempt and no wait, and with a maximum wait, where 0 means no limit. The interval must
// be positive.
func (b *budget) start(interval time.Duration, attempts int, maxWait time.Duration) {
	*b = budget{interval: interval, unlimited: attempts == 0, left: attempts - 1, announced: true}
	if b.unlimited && maxWait == 0 {
		return // the first wait begins an interval; most locks are acquired without one
	}
	now := time.Now()
	if maxWait > 0 {
		b.maxWait, b.until = maxWait, now.Add(maxWait)
	}
	b.begin(now)
}

// over reports whether the maximum wait is over.
func (b *budget) over(now time.Time) bool { return !b.until.IsZero() && !now.Before(b.until) }

// begin starts the next interval. It returns false if there is none.
func (b *budget) begin(now time.Time) bool {
	if !b.unlimited && b.left <= 0 {
		return false
	}
	b.left--
	b.next = now.Add(b.interval + rand.N(b.interval))
	b.announced = false
	return true
}

// wait returns how long to wait before the next attempt unless woken earlier:
// what is left of the present interval or, if that has ended, of a new one. It
// returns false if the budget is spent.
func (b *budget) wait() (time.Duration, bool) {
	now := time.Now()
	if b.over(now) {
		return 0, false
	}
	if b.announced && !now.Before(b.next) { // the attempt that ends it was made
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
	b.announced = true
	d := max(b.next.Sub(now), 0)
	if !b.until.IsZero() {
		d = min(d, b.until.Sub(now))
	}
	return d, true
}

// idle is wait for a waiter that makes no attempts and has to wake only when the budget
// is spent. Without a limit it never has to wake.
func (b *budget) idle() (d time.Duration, limited, ok bool) {
	switch {
	case !b.unlimited:
		d, ok = b.wait()
		return d, true, ok
	case !b.until.IsZero():
		d = time.Until(b.until)
		return d, true, d > 0
	default:
		return 0, false, true
	}
}
