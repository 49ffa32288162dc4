package redlock

import (
	"fmt"
	"time"
)

// Defaults of the options.
const (
	DefaultNodeTimeout = 50 * time.Millisecond
	DefaultMaxLease    = time.Minute
)

// Option changes a default of [New]. A value that makes no sense panics there,
// with the name of the option.
type Option func(*options)

type options struct {
	nodeTimeout  time.Duration
	maxLease     time.Duration
	trustedStart bool
	tokens       bool
}

func newOptions(opts []Option) options {
	o := options{nodeTimeout: DefaultNodeTimeout, maxLease: DefaultMaxLease}
	for _, opt := range opts {
		if opt == nil {
			panic("redlock: nil Option")
		}
		opt(&o)
	}
	return o
}

// WithNodeTimeout sets how long one node is waited for. It must be far below the
// leases, or a lease is used up before a quorum has answered: whatever is set
// here, a node is given no more than a quarter of the lease. It must also be
// longer than it takes to connect to the farthest node. The default is
// [DefaultNodeTimeout]; less than a millisecond panics.
func WithNodeTimeout(d time.Duration) Option {
	checkDuration("WithNodeTimeout", d)
	return func(o *options) { o.nodeTimeout = d }
}

// WithMaxLease sets the longest lease, and thereby the longest [distlock.Opts].KeyTimeout
// and MinHold. A node that was restarted may have forgotten locks and is not trusted for
// this time. All processes that share locks must use the same value. The default is
// [DefaultMaxLease]. WithMaxLease panics if the value is less than a millisecond.
func WithMaxLease(d time.Duration) Option {
	checkDuration("WithMaxLease", d)
	return func(o *options) { o.maxLease = d }
}

// WithTrustedStart makes the Backend trust nodes from the start if, at its first
// attempt, all of them answer and none of them was used for locks before. It is
// for demos, for tests, and for the first start in production. It is wrong where
// a whole fleet may come back empty while somebody still believes in a lease.
// Without it nothing can be locked on new nodes until the longest lease has
// passed. It changes nothing for a node that comes back later.
func WithTrustedStart() Option {
	return func(o *options) { o.trustedStart = true }
}

// WithTokens makes every grant carry fencing tokens, for a second round trip to
// a quorum. All processes that share locks must agree on it.
func WithTokens() Option {
	return func(o *options) { o.tokens = true }
}

func checkDuration(option string, d time.Duration) {
	if d < time.Millisecond {
		panic(fmt.Sprintf("redlock: %s: %v is less than a millisecond", option, d))
	}
}
