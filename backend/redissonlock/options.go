package redissonlock

import (
	"time"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// DefaultOpTimeout is the default of [WithOpTimeout].
const DefaultOpTimeout = time.Second

// Option changes a default of [New].
type Option func(*options)

type options struct {
	opTimeout time.Duration
}

func newOptions(opts []Option) options {
	o := options{opTimeout: DefaultOpTimeout}
	for _, opt := range opts {
		if opt == nil {
			panic("redissonlock: nil Option")
		}
		opt(&o)
	}
	return o
}

// WithOpTimeout sets the time within which the server must answer an operation. Otherwise
// the operation fails, whatever the timeouts of the client are. The default is
// [DefaultOpTimeout]. WithOpTimeout panics if d is less than a millisecond.
func WithOpTimeout(d time.Duration) Option {
	rediskit.CheckDuration("redissonlock", "WithOpTimeout", d)
	return func(o *options) { o.opTimeout = d }
}
