package redlock

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
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
	background *rediskit.Background
	closed     func()

	starting sync.Once
	started  chan struct{} // closed when bootstrap has ended
}

// New returns a [driver.Backend] that keeps locks on the masters of the clients, one client for
// each master. The masters must be independent of each other: not replicas of one
// another, and not members of one Cluster. Their number must be odd and at least three;
// five survive the loss of two. The order does not matter, and may differ between
// processes. The caller closes the clients after the Backend. They may have any settings.
//
// A Backend opens connections of its own to the node of a [*redis.Client], with its options and
// without its hooks: up to four for renewals and releases, so that nothing delays these, and as
// many as the client may have for everything else. If hooks are needed, pass a value of another
// type that embeds the client. It is then used for everything, and its hooks must not block.
//
// New sends nothing. It panics if the number of clients is wrong, if a client is nil, is
// there twice, or is the client of a Cluster or of a Ring, and if cfg is invalid.
func New(clients []redis.UniversalClient, cfg Config) driver.Backend {
	checkClients(clients)
	bg := rediskit.NewBackground()
	b := &backend{
		cfg:        cfg.withDefaults(),
		nodes:      make(nodes, len(clients)),
		quorum:     len(clients)/2 + 1,
		owners:     newOwners(len(clients)),
		background: bg,
		closed:     rediskit.Opened("redlock", slog.Default(), clients[0]),
		started:    make(chan struct{}),
	}
	for i, c := range clients {
		b.nodes[i] = newNode(i, c, b.cfg.NodeTimeout, b.owners, bg)
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
			panic(fmt.Sprintf("redlock: client %d is a %T; it must be that of one master", i, c))
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

// Ping implements [driver.Pinger]. It returns nil if a quorum of the nodes answers, and takes
// writes. A node that never had a lock is not asked for a write. Otherwise the error says
// which nodes fail, and why. It also fails if two nodes are one server.
func (b *backend) Ping(ctx context.Context) error { return b.nodes.ping(ctx, b.quorum) }

// TryAcquire makes one attempt on all nodes at once. It returns when a quorum has granted
// the lock, or cannot any more. Slower nodes get the lock too, in the background.
//
// It fails with a [*driver.HeldError] if other owners have the key on so many nodes that
// no quorum is left, and with [driver.ErrForeign] if that is so only because of nodes where
// the key is of a foreign type. It fails with the errors of the nodes if too many did not
// answer, refused, or do not count yet. Then it releases in the background what it has
// acquired. If several owners share the nodes, it tries again up to five times.
func (b *backend) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := cmp.Or(rediskit.CheckNames("redlock", r.Key, r.Owner), b.checkTTL(r.TTL)); err != nil {
		return driver.Grant{}, err
	}
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, err // nothing was sent
	}
	if err := b.bootstrap(ctx); err != nil {
		return driver.Grant{}, err
	}
	for tries := 1; ; tries++ {
		began := time.Now()
		g, split, err := b.attempt(ctx, r)
		if !split || tries == maxTries || !rediskit.Sleep(ctx, splitPause(tries, time.Since(began))) {
			return g, err
		}
	}
}

// maxTries is how many attempts a TryAcquire makes if several owners share the nodes. They stay
// shared if a process has died during an attempt.
const maxTries = 6

// splitPause returns a random pause: otherwise the attempts that have failed together fail
// together again. The pause is longer each time.
func splitPause(tries int, took time.Duration) time.Duration {
	return rand.N(max(took, time.Millisecond) << min(tries, 4))
}

// attempt makes one attempt. split is true if it has failed, and perhaps no owner has the key.
func (b *backend) attempt(ctx context.Context, r driver.Request) (_ driver.Grant, split bool, _ error) {
	o, generation, ok := b.owners.begin(r.Owner)
	if !ok {
		return driver.Grant{}, false, errReleased
	}
	defer b.owners.unref(o)
	a := &attempt{
		b: b, r: r, owner: o, generation: generation,
		answers: make(answers, len(b.nodes)),
		decided: make(chan struct{}),
	}
	g := r.Grant()
	g.Sent = time.Now()
	for i := range b.nodes {
		a.send(ctx, i)
	}
	select {
	case <-a.decided:
	case <-ctx.Done():
		a.fail(ctx.Err(), false)
	}
	if split, err := a.failure(); err != nil {
		return driver.Grant{}, split, err
	}
	if err := b.nodes.distinct(); err != nil {
		a.fail(err, true)
		return driver.Grant{}, false, err
	}
	if b.cfg.Tokens {
		t, err := a.mint(ctx)
		if err != nil {
			return driver.Grant{}, false, err
		}
		g.Token, g.LastToken = t.first, t.last
	}
	return g, false, nil
}

// Renew extends the grants on all nodes at once, with one script on each node for every
// 256 grants. If a lock that a quorum has extended is missing on a node that counts, it is
// restored there in the background. A lock that is lost is never created anew.
func (b *backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	v := &renewal{
		b: b, grants: slices.Clone(grants), limit: b.cfg.NodeTimeout, sent: time.Now(),
		owners:    make([]*ownerState, len(grants)),
		counts:    make([]renewCount, len(grants)),
		nodesLeft: len(b.nodes),
	}
	for i, g := range v.grants {
		if err := cmp.Or(ctx.Err(), rediskit.CheckNames("redlock", g.Key, g.Owner), b.checkTTL(g.TTL)); err != nil {
			report(i, driver.RenewResult{Err: err})
			continue
		}
		v.limit = min(v.limit, b.limit(g.TTL))
		v.valid = append(v.valid, i)
	}
	if len(v.valid) > 0 {
		v.run(ctx, report)
	}
}

// Release gives the key back on all nodes. It returns when the outcome is clear for a
// quorum. It continues in the background with the other nodes, until they have answered
// or the lease has ended there.
//
// It fails with [driver.ErrLost] if the owner has the key on too few nodes to be the
// holder, and either g has tokens or another owner may hold the key. A grant without
// tokens without an owner may have been released before, so it is not an error. If too
// many nodes do not answer, Release fails with their errors.
func (b *backend) Release(ctx context.Context, g driver.Grant) error {
	if err := rediskit.CheckNames("redlock", g.Key, g.Owner); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err // nothing was sent
	}
	if g.TTL <= 0 || g.TTL > b.cfg.MaxLease {
		g.TTL = b.cfg.MaxLease
	}
	answers := newBallot(len(b.nodes))
	o := b.owners.markReleased(g.Owner)
	for i, n := range b.nodes {
		b.owners.whenIdle(o, i, func() {
			r := nodeRelease{key: g.Key, owner: g.Owner, generation: anyGeneration, ttl: g.TTL, state: o}
			if b.cfg.Tokens {
				r.first, r.last = g.Token, g.LastToken
			}
			if b.owners.isInDoubt(o, i) {
				r.inDoubt = everyDoubt
			}
			n.pending.send(ctx, r, b.limit(g.TTL), answers.cast)
		})
	}
	b.owners.unref(o)

	count := releaseCount{nodes: len(b.nodes), quorum: b.quorum, tokens: g.Token != 0}
	return answers.count(ctx, count.add)
}

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

// bootstrap lets new nodes count if [Config].TrustedStart says so. The first call starts it,
// and each call waits for its end.
func (b *backend) bootstrap(ctx context.Context) error {
	if !b.cfg.TrustedStart {
		return nil
	}
	b.starting.Do(func() {
		start := func(ctx context.Context) {
			defer close(b.started)
			b.nodes.bootstrap(ctx, b.cfg.NodeTimeout)
		}
		if !b.background.Run(start) {
			close(b.started)
		}
	})
	select {
	case <-b.started:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// warmUp returns how old the data of a node must be, so that the node counts. All leases that
// it may have lost before have ended then.
func (b *backend) warmUp() time.Duration { return nodeTTL(b.cfg.MaxLease) }
