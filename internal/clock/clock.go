// Package clock has the rules by which a process relies on a lease.
package clock

import (
	"context"
	"time"
)

// Elapsed returns the time from since to now by the clock that ran further: on Linux the
// monotonic clock stands still while the machine is suspended, and the wall clock can be
// set back. By the larger of the two a process never relies on a lease for too long.
func Elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

// Margin is taken off every lease, for clocks that tick at different rates and for the
// time between a look at the clock and the act: 1 % and 2 ms. A lease of a few
// milliseconds loses half.
func Margin(ttl time.Duration) time.Duration {
	return min(ttl/100+2*time.Millisecond, ttl/2)
}

// SafeTTL returns how long a process may rely on a lease, counted from the sending of the
// request for it.
func SafeTTL(ttl time.Duration) time.Duration { return ttl - Margin(ttl) }

// Jumped reports whether the wall clock ran ahead of the monotonic one between two looks
// at both: the machine was suspended, or the clock was set.
func Jumped(last, now time.Time) bool {
	const noise = 10 * time.Millisecond
	return Elapsed(last, now)-now.Sub(last) > noise
}

// Sleep waits for d. It returns false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
