package redislock

import (
	"fmt"
	"reflect"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/backend/redislock/internal/dispatch"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/background"
)

var (
	_ driver.Backend  = (*backend)(nil)
	_ driver.Queuer   = (*backend)(nil)
	_ driver.Extender = (*backend)(nil)
)

// backend keeps locks in Redis. It is safe for concurrent use.
type backend struct {
	cfg        Config
	replicas   replicas
	topology   topology
	dispatcher *dispatcher
	calls      *calls
	inbox      *inbox
	inDoubt    doubt.Owners

	background *background.Work
	closed     func()
}

// ownConnections is how many connections of its own a Backend has to a server at most:
// one for each message in flight.
const ownConnections = dispatch.MaxInFlight

// lookConnections is how many more are for inspection, and for what the Locker tells of
// holders.
const lookConnections = 4

// New returns a [driver.Backend] that keeps locks in the Redis of the client: one
// server, a master that Sentinel watches, a Cluster, or a Ring. The client may have any
// settings. The caller closes it, after the Backend. New panics if the client is nil,
// and if cfg is invalid.
//
// A Backend opens connections of its own: as many as it needs, up to sixteen to each
// server for locks and four for inspection, and one to receive messages when an
// acquisition has to wait. So an application that uses up the pool of its client loses
// no lease. Close closes them.
func New(client redis.UniversalClient, cfg Config) driver.Backend {
	if v := reflect.ValueOf(client); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		panic("redislock: nil client")
	}
	cfg = cfg.withDefaults(client)
	work := background.New()
	t := newTopology(client, cfg.Clock)
	b := &backend{
		cfg:        cfg,
		replicas:   replicas{cfg.WaitReplicas, cfg.WaitReplicasTimeout},
		topology:   t,
		inbox:      newInbox(client, cfg.InboxPrefix, uuid.NewString(), work),
		background: work,
		closed:     rediskit.Opened("redislock", cfg.Logger, client),
		calls: &calls{
			own:        rediskit.NewOwnPool(client, ownConnections, cfg.OpTimeout),
			looks:      rediskit.NewOwnPool(client, lookConnections, cfg.OpTimeout),
			limit:      cfg.OpTimeout,
			background: work,
			server:     rediskit.NewServer("redislock", client, work, cfg.OpTimeout),
		},
	}
	args := &processArgs{inbox: b.inbox.id, prefix: cfg.InboxPrefix, claim: cfg.ClaimWindow.Milliseconds(), topology: t}
	if !cfg.FreeRelease {
		args.pass = args.claim
	}
	b.dispatcher = newDispatcher(b.calls, b.topology, args, b.replicas)
	return b
}

// Features implements [driver.Backend]. Readers and holders of permits exclude each
// other: no key is used for both. Each request says how many permits there are, and the server
// counts what is taken.
func (*backend) Features() driver.Features { return driver.Features{Sharing: true, HandOff: true} }

// Close closes the connections of the Backend, but not the client. It takes at most the
// operation timeout. It releases no lock. A closed Backend continues to
// work, but its waiters poll. Further calls of Close do nothing.
func (b *backend) Close() error {
	b.closed()
	b.background.End(b.cfg.OpTimeout)
	_ = b.calls.looks.Close()
	return b.calls.own.Close()
}

// checkEviction logs a warning, once, if the server may evict locks.
func (b *backend) checkEviction() {
	b.calls.server.CheckEviction(b.cfg.Logger, b.calls.looks.Client())
}

// checkNames refuses keys and owners that would break the format of locks.
func (b *backend) checkNames(key, owner string) error {
	if err := b.checkKey(key); err != nil {
		return err
	}
	if err := rediskit.CheckOwner(owner); err != nil {
		return fmt.Errorf("redislock: %w", err)
	}
	return nil
}

// checkKey refuses what cannot be the key of a lock. That includes the key of a clock.
func (b *backend) checkKey(key string) error {
	if isClock(key, defaultClock) || isClock(key, b.cfg.Clock) {
		return fmt.Errorf("redislock: the key %q is in use by the Backend itself", key)
	}
	if err := rediskit.CheckKey(key); err != nil {
		return fmt.Errorf("redislock: %w", err)
	}
	return nil
}
