package leasestate

import (
	"time"

	"github.com/distlock-go/distlock/driver"
)

// tokenRange is what may be given out before the store is asked for more.
type tokenRange struct {
	token, last uint64 // the next token and the last one; 0: the store issues none
	low         uint64 // the token from which on the store should be asked for more
}

// newRange returns the tokens of g. An answer of the store should arrive before they are used,
// and takes as long as many hand-overs, so the first eighth is enough to ask for more.
func newRange(g driver.Grant) tokenRange {
	return tokenRange{g.Token, g.LastToken, g.Token + (g.LastToken-g.Token)/8}
}

// left returns how many tokens are left, if the store issues any.
func (r *tokenRange) left() uint64 {
	if r.token == 0 {
		return 0
	}
	return r.last + 1 - r.token
}

// spent reports whether no token is left for another holder, after reserved tokens for
// holders that are attaching.
func (r *tokenRange) spent(reserved int) bool {
	return r.token != 0 && r.left() <= uint64(reserved)
}

// take returns the next token, or 0 if the store issues none.
func (r *tokenRange) take() uint64 {
	token := r.token
	if token != 0 {
		r.token++
	}
	return token
}

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
