package redissonlock

import (
	"log/slog"
	"time"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// DefaultOpTimeout is the default of [WithOpTimeout].
const DefaultOpTimeout = time.Second

// Option changes a default of [New].
type Option func(*options)

type options struct {
	opTimeout time.Duration
	tokenTTL  time.Duration // 0: tokens do not expire
	logger    *slog.Logger
}

func newOptions(opts []Option) options {
	o := options{opTimeout: DefaultOpTimeout, logger: slog.Default()}
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

// WithTokenTTL sets how long the token counter of a lock is kept after the last acquisition, or
// after the server's clock has passed the last token, if the clock was set back. By default it
// is kept without a limit, as RFencedLock keeps it: RFencedLock begins with 1 again if the
// counter is gone. Use this option if no Java program uses RFencedLock with these locks, and if
// there are so many keys that their counters would fill the server. Tokens of this package
// continue to rise, because they follow the server's clock. WithTokenTTL panics if d is less
// than a millisecond.
func WithTokenTTL(d time.Duration) Option {
	rediskit.CheckDuration("redissonlock", "WithTokenTTL", d)
	return func(o *options) { o.tokenTTL = d }
}

// WithLogger sets the logger for the only warning of this package: that the server may
// evict locks. The default is [slog.Default]. WithLogger panics if l is nil.
func WithLogger(l *slog.Logger) Option {
	if l == nil {
		panic("redissonlock: WithLogger: nil logger")
	}
	return func(o *options) { o.logger = l }
}
