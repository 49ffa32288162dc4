package leasestate

import (
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Limits say how long a lease may be handed over in this process.
type Limits struct {
	MaxTime time.Duration // since this process got the lease; negative: never
	Extend  bool          // the store can be asked whether other owners wait
}

const (
	// maxSharers is how many readers may come to share a lease. The store cannot be asked
	// whether writers wait.
	maxSharers = 64

	// changeTime is about what it costs to pass a key to another process. For so long, a
	// store that cannot be asked gets no chance to.
	changeTime = 500 * time.Microsecond
)

// Tokens returns how many fencing tokens a lease needs that is handed over for maxTime.
func Tokens(maxTime time.Duration) int {
	if maxTime < 0 {
		return 1
	}
	return driver.MaxTokens
}
