package redlock

import (
	"time"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// Defaults of the options.
const (
	DefaultNodeTimeout = 50 * time.Millisecond
	DefaultMaxLease    = time.Minute
)

// Option changes a default of [New]. An option with a wrong value panics, and the panic
// names the option and the value.
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

// WithNodeTimeout sets how long the Backend waits for one node. It must be far shorter than
// the leases: otherwise a lease ends before a quorum has answered. The Backend never waits
// for longer than a quarter of the lease. It must also be longer than a connection to the
// farthest node takes. The default is [DefaultNodeTimeout]. WithNodeTimeout panics if the
// value is less than a millisecond.
func WithNodeTimeout(d time.Duration) Option {
	rediskit.CheckDuration("redlock", "WithNodeTimeout", d)
	return func(o *options) { o.nodeTimeout = d }
}

// WithMaxLease sets the longest lease, and thereby the longest [distlock.Opts].KeyTimeout
// and MinHold. A node that was restarted may have lost locks, and does not count for this
// time. All processes that share locks must use the same value. The default is
// [DefaultMaxLease]. WithMaxLease panics if the value is less than a millisecond.
func WithMaxLease(d time.Duration) Option {
	rediskit.CheckDuration("redlock", "WithMaxLease", d)
	return func(o *options) { o.maxLease = d }
}

// WithTrustedStart makes new nodes count from the start if, at the first attempt of the
// Backend, all nodes answer and none of them was used for locks before. It is for demos,
// tests, and the first start in production. It is unsafe if all nodes can lose their data
// together while a lease is running. Without it nothing can be locked on new nodes until
// the longest lease has passed. It changes nothing for a node that comes back later.
func WithTrustedStart() Option {
	return func(o *options) { o.trustedStart = true }
}

// WithTokens gives each grant fencing tokens. It takes a second round trip to a quorum.
// All processes that share locks must use it, or none.
func WithTokens() Option {
	return func(o *options) { o.tokens = true }
}
