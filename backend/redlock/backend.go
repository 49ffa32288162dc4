package redlock

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/background"
	"github.com/distlock-go/distlock/internal/firstuse"
)

var (
	_ driver.Backend = (*backend)(nil)
	_ driver.Pinger  = (*backend)(nil)
)

// backend keeps locks on a quorum of Redis masters. It is safe for concurrent use.
type backend struct {
	cfg        Config
	nodes      nodes
	quorum     int
	owners     *owners
	pending    []pendingReleases // of each node
	background *background.Work
	closed     func()
	started    *firstuse.Check // bootstrap
}

// New returns a [driver.Backend] that keeps locks on the masters of the clients, one
// client for each master. The masters must be independent of each other: not replicas
// of one another, and not members of one Cluster. Their number must be odd and at least
// three; five survive the loss of two. The order does not matter, and may differ
// between processes. The caller closes the clients after the Backend. They may have any
// settings.
//
// A Backend opens connections of its own to the node of a [*redis.Client], with its
// options and without its hooks: up to four for renewals and releases, so that nothing
// delays these, and as many as the client may have for everything else. If hooks are
// needed, pass a value of another type that embeds the client. It is then used for
// everything, and its hooks must not block.
//
// New sends nothing. It panics if the number of clients is wrong, if a client is nil,
// is there twice, or is the client of a Cluster or of a Ring, and if cfg is invalid.
func New(clients []redis.UniversalClient, cfg Config) driver.Backend {
	checkClients(clients)
	work := background.New()
	b := &backend{
		cfg:        cfg.withDefaults(),
		nodes:      make(nodes, len(clients)),
		quorum:     len(clients)/2 + 1,
		owners:     newOwners(len(clients)),
		pending:    make([]pendingReleases, len(clients)),
		background: work,
		closed:     rediskit.Opened("redlock", slog.Default(), clients[0]),
		started:    firstuse.New(),
	}
	for i, c := range clients {
		b.nodes[i] = newNode(i, c, b.cfg.NodeTimeout, work)
		b.pending[i].node, b.pending[i].owners = b.nodes[i], b.owners
	}
	return b
}

func checkClients(clients []redis.UniversalClient) {
	if n := len(clients); n < 3 || n%2 == 0 {
		panic(fmt.Sprintf("redlock: %d clients; it takes an odd number, at least 3", n))
	}
	for i, c := range clients {
		if v := reflect.ValueOf(c); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			panic(fmt.Sprintf("redlock: client %d is nil", i))
		}
		switch c.(type) {
		case *redis.ClusterClient, *redis.Ring:
			panic(fmt.Sprintf("redlock: client %d is a %T; it must be the client of one master", i, c))
		}
		for j := range i {
			if reflect.TypeOf(c).Comparable() && clients[j] == c {
				panic(fmt.Sprintf("redlock: client %d is client %d again", i, j))
			}
		}
	}
}

// Close ends the work in the background: nodes that did not answer a release keep the
// lock until its lease has ended. Close takes no longer than the node timeout, and
// returns nil. It neither closes the clients nor releases locks. A Backend that was
// closed still works, but does not repeat releases. A second Close does nothing.
func (b *backend) Close() error {
	b.closed()
	b.background.End(b.cfg.NodeTimeout)
	for _, n := range b.nodes {
		_, _ = n.own.Close(), n.taking.Close()
	}
	return nil
}

// Features implements [driver.Backend]. MaxTTL is the value of [Config].MaxLease.
func (b *backend) Features() driver.Features { return driver.Features{MaxTTL: b.cfg.MaxLease} }

// Ping implements [driver.Pinger]. It returns nil if a quorum of the nodes answers, and
// takes writes. A node that never had a lock is not asked for a write. Otherwise the
// error says which nodes fail, and why. It also fails if two nodes are one server.
func (b *backend) Ping(ctx context.Context) error { return b.nodes.ping(ctx, b.quorum) }

// limit returns how long one node may take for a lease of ttl.
func (b *backend) limit(ttl time.Duration) time.Duration {
	return max(min(b.cfg.NodeTimeout, ttl/4), time.Millisecond)
}

func (b *backend) checkTTL(ttl time.Duration) error {
	switch {
	case ttl < time.Millisecond: // a PEXPIRE of zero would delete the lock
		return fmt.Errorf("redlock: a TTL of %v is less than a millisecond", ttl)
	case ttl > b.cfg.MaxLease: // a node that comes back would count too early
		return fmt.Errorf("redlock: a TTL of %v is more than the %v of Config.MaxLease", ttl, b.cfg.MaxLease)
	default:
		return nil
	}
}

// bootstrap lets new nodes count if [Config].TrustedStart says so. The first call does that,
// and each call waits for its end.
func (b *backend) bootstrap(ctx context.Context) error {
	if !b.cfg.TrustedStart {
		return nil
	}
	err := b.started.Do(ctx, func(context.Context) error { // not of ctx: it counts for all callers
		defer b.background.Enter()()
		b.nodes.bootstrap(b.background, b.cfg.NodeTimeout)
		return nil
	})
	if err != nil {
		return b.nodes.silent()
	}
	return nil
}

// warmUp returns how old the data of a node must be, so that the node counts. All
// leases that it may have lost before have ended then.
func (b *backend) warmUp() time.Duration { return nodeTTL(b.cfg.MaxLease) }

// Config configures the backend that [New] returns. Its zero value works.
type Config struct {
	// NodeTimeout is how long the backend waits for one node. It must be far shorter
	// than the leases: otherwise a lease ends before a quorum has answered. The backend
	// never waits for longer than a quarter of the lease. It must also be longer than a
	// connection to the farthest node takes. The default is 50 ms.
	NodeTimeout time.Duration

	// MaxLease is the longest lease, and thereby the longest [distlock.Opts].KeyTimeout
	// and MinHold. A node that was restarted may have lost locks, and does not count
	// for this time. All processes that share locks must use the same value. The
	// default is a minute.
	MaxLease time.Duration

	// TrustedStart makes new nodes count from the start if, at the first attempt of the
	// backend, all nodes answer and none of them was used for locks before. It is for
	// demos, tests, and the first start in production. It is unsafe if all nodes can
	// lose their data together while a lease is running. Without it nothing can be
	// locked on new nodes until the longest lease has passed. It changes nothing for a
	// node that comes back later.
	TrustedStart bool

	// Tokens gives each grant fencing tokens. It takes a second round trip to a quorum.
	// All processes that share locks must use it, or none.
	Tokens bool
}

// withDefaults fills in the zero fields, and panics for a field that makes no sense.
func (c Config) withDefaults() Config {
	c.NodeTimeout = rediskit.Duration("redlock", "NodeTimeout", c.NodeTimeout, 50*time.Millisecond)
	c.MaxLease = rediskit.Duration("redlock", "MaxLease", c.MaxLease, defaultMaxLease)
	return c
}

const defaultMaxLease = time.Minute
