package redissonlock

import (
	"log/slog"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/background"
)

var (
	_ driver.Backend   = (*backend)(nil)
	_ driver.Waker     = (*backend)(nil)
	_ driver.Inspector = (*backend)(nil)
	_ driver.Pinger    = (*backend)(nil)
)

// backend shares locks with Redisson. It is safe for concurrent use.
type backend struct {
	limit    time.Duration // of an operation
	client   redis.UniversalClient
	cluster  *redis.ClusterClient // nil if the client is for one server
	own      *rediskit.OwnPool    // for renewals and releases
	taking   *rediskit.OwnPool    // for everything else
	server   *rediskit.Server     // that errors name
	listener *rediskit.Listener
	publish  string // the command for messages

	inDoubt doubt.Owners
	turns   turns

	background *background.Work
	closed     func()
}

// ownConnections is how many connections to a server are for renewals and releases
// alone.
const ownConnections = 4

// New returns a [driver.Backend] that keeps locks in the Redis of the client: one
// server, a master that Sentinel watches, or a Cluster. The client may have any
// settings. The caller closes it, after the Backend. New panics if the client is nil or
// a Ring, of which Redisson has no counterpart, and if cfg is invalid.
//
// A Backend opens connections of its own, with the options of the client and without
// its hooks: up to four to each server for renewals and releases, so that nothing
// delays these; as many as the client may have for everything else; and one to receive
// messages when an acquisition has to wait, in a Cluster one to each master that is
// concerned. Close closes them.
func New(client redis.UniversalClient, cfg Config) driver.Backend {
	if v := reflect.ValueOf(client); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		panic("redissonlock: nil client")
	}
	if _, ring := client.(*redis.Ring); ring {
		panic("redissonlock: the client of a Ring, of which Redisson has no counterpart")
	}
	limit := rediskit.Duration("redissonlock", "OpTimeout", cfg.OpTimeout, time.Second)
	work := background.New()
	b := &backend{
		limit: limit, client: client, publish: "PUBLISH",
		own:        rediskit.NewOwnPool(client, ownConnections, limit),
		taking:     rediskit.NewOwnPool(client, 0, limit),
		server:     rediskit.NewServer("redissonlock", client, work, limit),
		background: work,
		closed:     rediskit.Opened("redissonlock", slog.Default(), client),
	}
	if c, ok := client.(*redis.ClusterClient); ok {
		b.cluster, b.publish, b.listener = c, "SPUBLISH", rediskit.NewShardedListener(c, work)
	} else {
		b.listener = rediskit.NewListener(client, work)
	}
	return b
}

// Features implements [driver.Backend]. All locks are exclusive: the package comment
// says why.
func (*backend) Features() driver.Features { return driver.Features{} }

// Close closes the connections of the Backend, but not the client. It takes at most the
// operation timeout. It releases no lock. A closed Backend continues to work, but its
// waiters poll. Further calls of Close do nothing.
func (b *backend) Close() error {
	b.closed()
	b.background.End(b.limit)
	_ = b.taking.Close()
	return b.own.Close()
}

// Config configures the backend that [New] returns. Its zero value works.
type Config struct {
	// OpTimeout is the time within which the server must answer an operation. Otherwise
	// the operation fails, whatever the timeouts of the client are. The default is a
	// second.
	OpTimeout time.Duration
}

// checkEviction logs a warning, once, if the server may evict locks.
func (b *backend) checkEviction() {
	b.server.CheckEviction(slog.Default(), b.taking.Client())
}
