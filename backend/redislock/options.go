package redislock

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// Defaults of the options.
const (
	DefaultInboxPrefix = "distlock:inbox:"
	DefaultClaimWindow = 500 * time.Millisecond
	DefaultOpTimeout   = time.Second
)

// queueTTL is how long a queue is kept after the last attempt of its last waiter. A
// waiter makes an attempt at least three times within it.
const queueTTL = time.Minute

// Option changes a default of [New].
type Option func(*options)

type options struct {
	inboxPrefix string
	clock       string
	claimWindow time.Duration
	opTimeout   time.Duration
	logger      *slog.Logger
	replicas    replicas
	freeRelease bool
}

func newOptions(opts []Option) options {
	o := options{
		inboxPrefix: DefaultInboxPrefix,
		clock:       DefaultClock,
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

// WithInboxPrefix sets the prefix of the channels on which waiting processes receive
// messages. All processes that share locks must use the same prefix. Processes with
// different prefixes exclude each other too, but a waiter gets the lock later, by polling.
// The default is [DefaultInboxPrefix]. WithInboxPrefix panics if the prefix is empty.
func WithInboxPrefix(prefix string) Option {
	if prefix == "" {
		panic(`redislock: WithInboxPrefix: "" is empty`)
	}
	return func(o *options) { o.inboxPrefix = prefix }
}

// WithClock sets the key with the last token, which all locks of a server share by default.
// Who may write it can end the order of tokens, and can stop all locks that use it. So programs
// that do not trust each other need a clock each: see "Access control" in the package comment.
// All programs that share a lock must use the same clock. Otherwise tokens of the lock may be out
// of order by 20 ms, or by more if the server's time is set back. In a Cluster the keys of the
// clocks begin with the name. The default is [DefaultClock]. WithClock panics if the name is
// empty or contains a brace.
func WithClock(key string) Option {
	if key == "" || strings.ContainsAny(key, "{}") {
		panic(fmt.Sprintf("redislock: WithClock: %q is empty or contains a brace", key))
	}
	return func(o *options) { o.clock = key }
}

// WithClaimWindow sets how long a lock that was granted to a waiter is kept for it, until
// it claims the lock. It must be longer than a message and a round trip take. A waiter that
// has died delays the waiters behind it by this time. The default is [DefaultClaimWindow].
// WithClaimWindow panics if d is less than a millisecond.
func WithClaimWindow(d time.Duration) Option {
	rediskit.CheckDuration("redislock", "WithClaimWindow", d)
	return func(o *options) { o.claimWindow = d }
}

// WithOpTimeout sets the time within which the server must answer an operation. Otherwise
// the operation fails, whatever the timeouts of the client are. The default is
// [DefaultOpTimeout]. WithOpTimeout panics if d is less than a millisecond.
func WithOpTimeout(d time.Duration) Option {
	rediskit.CheckDuration("redislock", "WithOpTimeout", d)
	return func(o *options) { o.opTimeout = d }
}

// WithLogger sets the logger for the warnings of this package: that the server may evict locks,
// and that a client has ten Backends that are not closed. The default is [slog.Default]. WithLogger panics if l is nil.
func WithLogger(l *slog.Logger) Option {
	if l == nil {
		panic("redislock: WithLogger: nil logger")
	}
	return func(o *options) { o.logger = l }
}

// WithFreeRelease gives clients of other libraries that wait for the same keys a fair
// chance. A release then leaves the key free, and tells the first waiter to make an attempt:
// whoever comes first gets the key. By default a release passes the key to the first waiter
// inside the server, so a client that polls never finds it free while others wait. A
// hand-over inside the process is not affected: [distlock.Config.HandOverTime] limits it.
//
// A waiter of this package that loses the race keeps its place in the queue, and tries again
// after its RetryInterval or at the next release. If the first waiter has died, the next one
// gets the key after its own RetryInterval.
//
// [distlock.Config.HandOverTime]: https://pkg.go.dev/github.com/distlock-go/distlock#Config
func WithFreeRelease() Option {
	return func(o *options) { o.freeRelease = true }
}
