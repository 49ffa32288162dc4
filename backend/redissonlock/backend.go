package redissonlock

import (
	"context"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

var (
	_ driver.Backend   = (*Backend)(nil)
	_ driver.Waker     = (*Backend)(nil)
	_ driver.Inspector = (*Backend)(nil)
	_ driver.Pinger    = (*Backend)(nil)
)

// Backend shares locks with Redisson. It is safe for concurrent use. Make one for each Locker,
// with [New].
type Backend struct {
	opts     options
	client   redis.UniversalClient
	cluster  *redis.ClusterClient // nil if the client is for one server
	own      *rediskit.OwnPool    // for renewals and releases
	taking   *rediskit.OwnPool    // for everything else
	server   *rediskit.Server     // that errors name
	listener *rediskit.Listener
	publish  string // the command for messages

	inDoubt doubt.Owners
	turns   turns

	background *rediskit.Background
	closed     func()
}

// ownConnections is how many connections to a server are for renewals and releases alone.
const ownConnections = 4

// New returns a Backend that keeps locks in the Redis of the client: one server, a master that
// Sentinel watches, or a Cluster. The client may have any settings. The caller closes it, after
// the Backend. New panics if the client is nil, or a Ring: Redisson has no counterpart of it.
//
// A Backend opens connections of its own, with the options of the client and without its hooks:
// up to four to each server for renewals and releases, so that nothing delays these; as many as
// the client may have for everything else; and one to receive messages when an acquisition has
// to wait, in a Cluster one to each master that is concerned. Close closes them.
func New(client redis.UniversalClient, opts ...Option) *Backend {
	if v := reflect.ValueOf(client); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		panic("redissonlock: nil client")
	}
	if _, ring := client.(*redis.Ring); ring {
		panic("redissonlock: a Ring")
	}
	o := newOptions(opts)
	bg := rediskit.NewBackground()
	b := &Backend{
		opts: o, client: client, publish: "PUBLISH",
		own:        rediskit.NewOwnPool(client, ownConnections, o.opTimeout),
		taking:     rediskit.NewOwnPool(client, 0, o.opTimeout),
		server:     rediskit.NewServer("redissonlock", client, bg),
		background: bg,
		closed:     rediskit.Opened("redissonlock", slog.Default(), client),
	}
	if c, ok := client.(*redis.ClusterClient); ok {
		b.cluster, b.publish, b.listener = c, "SPUBLISH", rediskit.NewShardedListener(c, bg)
	} else {
		b.listener = rediskit.NewListener(client, bg)
	}
	return b
}

// Features implements [driver.Backend]. All locks are exclusive: the package comment says why.
func (*Backend) Features() driver.Features { return driver.Features{} }

// Close closes the connections of the Backend, but not the client. It takes at most the
// operation timeout. It releases no lock. A closed Backend continues to work, but its waiters
// poll. Further calls of Close do nothing.
func (b *Backend) Close() error {
	b.closed()
	b.background.End(b.opts.opTimeout)
	_ = b.taking.Close()
	return b.own.Close()
}

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

// Ping releases a key that is not held, with the script and over the connections of a
// release: that fails if the server does not answer this user or takes no writes. In a
// Cluster it first asks all masters whether they answer. A user that may not access the key
// distlock:ping is not refused for that. Ping takes at most twice the operation timeout. If
// several servers fail, it returns one of the errors.
func (b *Backend) Ping(ctx context.Context) error {
	if b.cluster != nil {
		_, err := call(ctx, b, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, b.cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
				return master.Ping(ctx).Err()
			})
		})
		if err != nil && !redis.HasErrorPrefix(err, "NOPERM") { // it answers
			return err
		}
	}
	b.checkEviction()
	k := keysOf("distlock:ping")
	lock, readWrite := channels(k.lock)
	_, err := b.run(ctx, b.own.Client(), releaseScript, []string{k.lock, k.gone}, uuid.NewString(), rediskit.Flag(false), b.publish, lock, readWrite)
	if redis.HasErrorPrefix(err, "NOPERM") && strings.Contains(err.Error(), "access") { // the key, not a command
		return nil
	}
	return err
}

// checkEviction logs a warning, once, if the server may evict locks.
func (b *Backend) checkEviction() {
	b.server.CheckEviction(slog.Default(), b.taking.Client(), b.opts.opTimeout)
}
