package redislock

import (
	"reflect"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/backend/redislock/internal/dispatch"
	"github.com/distlock-go/distlock/driver"
)

var (
	_ driver.Backend  = (*Backend)(nil)
	_ driver.Queuer   = (*Backend)(nil)
	_ driver.Extender = (*Backend)(nil)
)

// Backend keeps locks in Redis. It is safe for concurrent use. Make one for each
// Locker, with [New].
type Backend struct {
	opts       options
	topology   topology
	dispatcher *dispatcher
	calls      *calls
	inbox      *inbox
	inDoubt    doubt.Owners

	background *rediskit.Background
	closed     func()
}

// ownConnections is how many connections of its own a Backend has to a server at most: one for
// each message in flight.
const ownConnections = dispatch.MaxInFlight

// lookConnections is how many more are for inspection, and for what the Locker tells of holders.
const lookConnections = 4

// New returns a Backend that keeps locks in the Redis of the client: one server, a master
// that Sentinel watches, a Cluster, or a Ring. The client may have any settings. The
// caller closes it, after the Backend. New panics if the client is nil.
//
// A Backend opens connections of its own: as many as it needs, up to sixteen to each server for
// locks and four for inspection, and one to receive messages when an acquisition has to wait. So
// an application that uses up the pool of its client loses no lease. Close closes them.
func New(client redis.UniversalClient, opts ...Option) *Backend {
	if v := reflect.ValueOf(client); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		panic("redislock: nil client")
	}
	o := newOptions(opts)
	o.replicas.check(client, o.opTimeout)
	bg := rediskit.NewBackground()
	t := newTopology(client, o.clock)
	b := &Backend{
		opts:       o,
		topology:   t,
		inbox:      newInbox(client, o.inboxPrefix, uuid.NewString(), bg),
		background: bg,
		closed:     rediskit.Opened("redislock", o.logger, client),
		calls: &calls{
			own:        rediskit.NewOwnPool(client, ownConnections, o.opTimeout),
			looks:      rediskit.NewOwnPool(client, lookConnections, o.opTimeout),
			limit:      o.opTimeout,
			background: bg,
			server:     rediskit.NewServer("redislock", client, bg),
		},
	}
	args := &processArgs{inbox: b.inbox.id, prefix: o.inboxPrefix, claim: o.claimWindow.Milliseconds(), topology: t}
	if !o.freeRelease {
		args.pass = args.claim
	}
	b.dispatcher = newDispatcher(b.calls, b.topology, args, o.replicas)
	return b
}

// Features implements [driver.Backend]. Readers and holders of permits exclude each
// other: a key is used either for the one or for the other. Each request says how many
// permits there are, and the server counts those that are taken.
func (*Backend) Features() driver.Features { return driver.Features{Sharing: true} }

// Close closes the connections of the Backend, but not the client. It takes at most the
// operation timeout. It releases no lock. A closed Backend continues to
// work, but its waiters poll. Further calls of Close do nothing.
func (b *Backend) Close() error {
	b.closed()
	b.background.End(b.opts.opTimeout)
	_ = b.calls.looks.Close()
	return b.calls.own.Close()
}

// checkEviction logs a warning, once, if the server may evict locks.
func (b *Backend) checkEviction() {
	b.calls.server.CheckEviction(b.opts.logger, b.calls.looks.Client(), b.opts.opTimeout)
}
