package leasestate

import "time"

// Limits say how long a lease may be handed over in this process before the store is
// asked again, so that other processes get their turn.
type Limits struct {
	HandOvers int           // for one range of tokens, or,
	MinTime   time.Duration // if that is more, as many as fit in this time since the range began
	MaxTime   time.Duration // since this process got the lease
	Extend    bool          // the store can be asked whether other owners wait
}

const (
	// minHandOvers is how often a lease is handed over although MinTime is over. If it
	// changed the process after every holder that takes as long as MinTime, the changes
	// would cost a tenth of the time.
	minHandOvers = 64

	// measuredTokens is enough for a MinTime of 3 ms and holders that take 3 µs.
	measuredTokens = 1024
)

// NewLimits returns limits of n hand-overs. If n is 0, the limit follows the cost of a
// change of process, which is estimated from r. If n is -1, nothing is handed over.
func NewLimits(n int, maxTime time.Duration, extend bool, r *RoundTrip) Limits {
	switch n {
	case -1:
		return Limits{}
	case 0:
		return Limits{HandOvers: minHandOvers, MinTime: r.minTime(), MaxTime: maxTime, Extend: extend}
	default:
		return Limits{HandOvers: n, MaxTime: maxTime, Extend: extend}
	}
}

// Tokens returns how many fencing tokens a lease needs for n hand-overs, as in [NewLimits].
func Tokens(n int) int {
	if n == 0 {
		return measuredTokens
	}
	return max(n, 0) + 1
}
