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
// next attempt ends all. [Opts].MaxWait ends the budget even if attempts are left; there
// is a last attempt at its end. A Backoff is not safe for concurrent use.
type Backoff struct {
	interval  time.Duration
	unlimited bool
	told      bool          // Wait has announced the attempt that ends the present interval
	left      int           // intervals not yet begun
	next      time.Time     // end of the present interval
	maxWait   time.Duration // of Opts
	until     time.Time     // when maxWait is over; zero: no limit
}

// NewBackoff starts a wait budget of the given attempts; 0 means no limit, 1
// means one attempt and no wait. The interval must be positive.
func NewBackoff(interval time.Duration, attempts int) *Backoff {
	b := &Backoff{}
	b.start(&Opts{RetryInterval: interval, RetryCount: attempts})
	return b
}

func (b *Backoff) start(o *Opts) {
	now := time.Now()
	*b = Backoff{interval: o.RetryInterval, unlimited: o.RetryCount == 0, left: o.RetryCount - 1, told: true}
	if o.MaxWait > 0 {
		b.maxWait, b.until = o.MaxWait, now.Add(o.MaxWait)
	}
	b.begin(now)
}

// over reports whether MaxWait is over.
func (b *Backoff) over(now time.Time) bool { return !b.until.IsZero() && !now.Before(b.until) }

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
	if b.over(now) {
		return 0, false
	}
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
	d := max(b.next.Sub(now), 0)
	if !b.until.IsZero() {
		d = min(d, b.until.Sub(now))
	}
	return d, true
}

// idle is Wait for a waiter that makes no attempts and has to wake only when the budget
// is spent. Without a limit it never has to wake.
func (b *Backoff) idle() (d time.Duration, limited, ok bool) {
	switch {
	case !b.unlimited:
		d, ok = b.Wait()
		return d, true, ok
	case !b.until.IsZero():
		d = time.Until(b.until)
		return d, true, d > 0
	default:
		return 0, false, true
	}
}
