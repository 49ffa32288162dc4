package redislock

import (
	"fmt"
	"log/slog"
	"time"
)

// Defaults of the options.
const (
	DefaultInboxPrefix = "distlock:inbox:"
	DefaultClaimWindow = 500 * time.Millisecond
	DefaultOpTimeout   = time.Second
)

// lib.lua has the same figures.
const (
	// How long the fence of a lock outlives its last use. With it goes the
	// order of the tokens if the server's clock is then set back by more than
	// the lock was idle; and strangers choose the keys, so it is not kept for
	// ever.
	retention = 15 * time.Minute

	// How long a queue outlives the last look of its last waiter. Every waiter
	// looks again three times as often, whatever its Backoff says.
	queueTTL = time.Minute
)

// Option changes a default of [New]. A value that makes no sense panics there,
// with the name of the option.
type Option func(*options)

type options struct {
	inboxPrefix string
	claimWindow time.Duration
	opTimeout   time.Duration
	logger      *slog.Logger
	replicas    replicas
}

func newOptions(opts []Option) options {
	o := options{
		inboxPrefix: DefaultInboxPrefix,
		claimWindow: DefaultClaimWindow,
		opTimeout:   DefaultOpTimeout,
		logger:      slog.Default(),
	}
	for _, opt := range opts {
		if opt == nil {
			panic("redislock: nil Option")
		}
		opt(&o)
	}
	return o
}

// WithInboxPrefix sets what the names of the channels begin with on which
// waiting processes are woken. All processes that share locks must use the same
// prefix: with another one they still get the locks, but later, by polling. The
// default is [DefaultInboxPrefix]; an empty prefix panics.
func WithInboxPrefix(prefix string) Option {
	if prefix == "" {
		panic(`redislock: WithInboxPrefix: "" is empty`)
	}
	return func(o *options) { o.inboxPrefix = prefix }
}

// WithClaimWindow sets how long a lock that is passed on waits for the process
// that it was passed to. It must be longer than a message and a round trip, and
// is what a waiter that has died costs those behind it. The default is
// [DefaultClaimWindow]; less than a millisecond panics.
func WithClaimWindow(d time.Duration) Option {
	checkDuration("WithClaimWindow", d)
	return func(o *options) { o.claimWindow = d }
}

// WithOpTimeout bounds one network operation. An operation that has no answer
// by then fails, whatever the timeouts of the client are. The default is
// [DefaultOpTimeout]; less than a millisecond panics.
func WithOpTimeout(d time.Duration) Option {
	checkDuration("WithOpTimeout", d)
	return func(o *options) { o.opTimeout = d }
}

// WithLogger sets where the one warning goes that this package has to give: that
// the server may evict locks. The default is [slog.Default]; nil panics.
func WithLogger(l *slog.Logger) Option {
	if l == nil {
		panic("redislock: WithLogger: nil logger")
	}
	return func(o *options) { o.logger = l }
}

func checkDuration(option string, d time.Duration) {
	if d < time.Millisecond {
		panic(fmt.Sprintf("redislock: %s: %v is less than a millisecond", option, d))
	}
}
