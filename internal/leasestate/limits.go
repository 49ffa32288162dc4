package leasestate

import (
	"time"

	"github.com/distlock-go/distlock/driver"
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
	return driver.MaxTokens
}
