package distlock

import "time"

// elapsed is the time from since to now by whichever clock ran further: on
// Linux the monotonic clock stands still while the machine is suspended, and
// the wall clock can be set back. Believing the larger of the two never
// believes in a lease for too long.
func elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

// margin is taken off every lease, for clocks that tick at different rates and
// for the time between looking at the clock and acting on it: 1 % and 2 ms.
// A lease of a few milliseconds loses half.
func margin(ttl time.Duration) time.Duration {
	return min(ttl/100+2*time.Millisecond, ttl/2)
}

// believed is how long after it was asked for a lease is believed in.
func believed(ttl time.Duration) time.Duration { return ttl - margin(ttl) }

// jumped reports whether the wall clock ran ahead of the monotonic one between
// two looks at both: the machine was suspended, or the clock was set.
func jumped(last, now time.Time) bool {
	const noise = 10 * time.Millisecond
	return elapsed(last, now)-now.Sub(last) > noise
}
