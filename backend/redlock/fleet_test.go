package redlock_test

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

const lockKey = "shop:order"

// fleet is n independent Redis servers.
type fleet struct {
	servers []*redistest.Server // nil if the servers are simulated
	admins  []*redis.Client     // other clients than those of the Backend
	client  func(i int, change ...func(*redis.Options)) *redis.Client
	dial    func(i int) func() (net.Conn, error)
}

func realFleet(tb testing.TB, n int) *fleet {
	tb.Helper()
	f := &fleet{}
	for range n {
		s := redistest.Start(tb)
		f.servers = append(f.servers, s)
		f.admins = append(f.admins, s.Client(tb))
	}
	f.client = func(i int, change ...func(*redis.Options)) *redis.Client { return f.servers[i].Client(tb, change...) }
	f.dial = func(i int) func() (net.Conn, error) {
		return func() (net.Conn, error) { return net.DialTimeout("tcp", f.servers[i].Addr(), 5*time.Second) }
	}
	return f
}

// virtualFleet starts simulated servers in the bubble that calls it.
func virtualFleet(tb testing.TB, n int) *fleet {
	tb.Helper()
	f := &fleet{}
	var servers []*miniredis.Miniredis
	for range n {
		m := redistest.Virtual(tb)
		servers = append(servers, m)
		f.admins = append(f.admins, redistest.VirtualClient(tb, m))
	}
	f.client = func(i int, change ...func(*redis.Options)) *redis.Client {
		return redistest.VirtualClient(tb, servers[i], change...)
	}
	f.dial = func(i int) func() (net.Conn, error) { return servers[i].Dial }
	return f
}

// clients returns new clients, as in another process.
func (f *fleet) clients() []redis.UniversalClient {
	cs := make([]redis.UniversalClient, len(f.admins))
	for i := range cs {
		cs[i] = f.client(i)
	}
	return cs
}

// backend returns a Backend with a long node timeout, so that a slow machine is not a
// fault. Tests with nodes that hang measure the speed.
func (f *fleet) backend(tb testing.TB, change ...redlock.Config) *redlock.Backend {
	tb.Helper()
	cfg := append(change, redlock.Config{})[0]
	cfg.NodeTimeout = cmp.Or(cfg.NodeTimeout, 3*time.Second)
	return newBackend(tb, f.clients(), cfg)
}

// backendAsUser returns a Backend of a user with these rights.
func (f *fleet) backendAsUser(tb testing.TB, rules []string, cfg redlock.Config) *redlock.Backend {
	tb.Helper()
	var cs []redis.UniversalClient
	for i, c := range f.admins {
		redistest.SetUser(tb, c, rules)
		cs = append(cs, f.servers[i].Client(tb, redistest.AsUser))
	}
	cfg.NodeTimeout = 10 * time.Second
	return newBackend(tb, cs, cfg)
}

// newBackend returns a Backend with the Config, if there is one. It trusts new nodes.
func newBackend(tb testing.TB, clients []redis.UniversalClient, change ...redlock.Config) *redlock.Backend {
	tb.Helper()
	cfg := append(change, redlock.Config{})[0]
	cfg.TrustedStart = true
	b := redlock.Open(clients, cfg)
	tb.Cleanup(func() {
		if err := b.Close(); err != nil {
			tb.Error(err)
		}
	})
	return b
}

// owners returns the value of the key on each node, or "".
func (f *fleet) owners(key string) []string {
	vs := make([]string, len(f.admins))
	for i, c := range f.admins {
		vs[i], _, _ = strings.Cut(c.Get(context.Background(), key).Val(), " ")
	}
	return vs
}

// have returns on how many nodes the key has this owner; "" counts the nodes without
// the key.
func (f *fleet) have(key, owner string) (n int) {
	for _, v := range f.owners(key) {
		if v == owner {
			n++
		}
	}
	return n
}

// mustHave checks on how many nodes the lock has this owner; "" counts the nodes where
// it is free.
func (f *fleet) mustHave(tb testing.TB, owner string, want int) {
	tb.Helper()
	if n := f.have(lockKey, owner); n != want {
		tb.Errorf("the owner %q is on %d of %d nodes, want %d", owner, n, len(f.admins), want)
	}
}

// put sets the key on some nodes, as another library does.
func (f *fleet) put(tb testing.TB, owner string, ttl time.Duration, nodes ...int) {
	tb.Helper()
	for _, i := range nodes {
		if err := f.admins[i].Set(context.Background(), lockKey, owner, ttl).Err(); err != nil {
			tb.Fatal(err)
		}
	}
}

func (f *fleet) del(tb testing.TB, key string, nodes ...int) {
	tb.Helper()
	for _, i := range nodes {
		if err := f.admins[i].Del(context.Background(), key).Err(); err != nil {
			tb.Fatal(err)
		}
	}
}

// restart restarts nodes without their data.
func (f *fleet) restart(nodes ...int) {
	for _, i := range nodes {
		f.servers[i].Kill()
		f.servers[i].Restart()
	}
}

// The lease is longer than eventually waits: a key that is free in time was released.
func request() driver.Request {
	return driver.Request{Key: lockKey, Owner: uuid.NewString(), TTL: 50 * time.Second, Tokens: 1}
}

// everywhere acquires when all nodes are free, and waits until all have the lock. A
// node gets only a part of the lease as time limit: with a short lease, a busy machine
// may need several attempts.
func (f *fleet) everywhere(tb testing.TB, b *redlock.Backend, r driver.Request) driver.Grant {
	tb.Helper()
	f.allFree(tb)
	g := testkit.TryRepeatedly(tb, b, r)
	testkit.Eventually(tb, "all nodes have the lock", func() bool { return f.have(r.Key, r.Owner) == len(f.admins) })
	return g
}

// warm uses all nodes once, so that they are known and connected.
func (f *fleet) warm(tb testing.TB, b *redlock.Backend) {
	tb.Helper()
	testkit.MustRelease(tb, b, f.everywhere(tb, b, request()))
	f.settled(tb, b)
}

func mustBeHeld(tb testing.TB, err error) *driver.HeldError {
	tb.Helper()
	held, ok := errors.AsType[*driver.HeldError](err)
	if !ok {
		tb.Fatalf("the key is held, and the error is %v", err)
	}
	return held
}

// mustFail checks that err means that too few nodes answer.
func mustFail(tb testing.TB, err error) {
	tb.Helper()
	if err == nil || errors.Is(err, driver.ErrNotAcquired) || errors.Is(err, context.DeadlineExceeded) {
		tb.Fatalf("too few nodes answer, and the error is %v", err)
	}
}

// quiet waits until no attempt is in flight and no release is pending.
func quiet(tb testing.TB, b *redlock.Backend) {
	tb.Helper()
	testkit.Eventually(tb, "nothing is under way", func() bool { return b.InFlight() == 0 && b.PendingReleases() == 0 })
}

// allFree waits until no node has the lock.
func (f *fleet) allFree(tb testing.TB) {
	tb.Helper()
	testkit.Eventually(tb, "no node has the lock", func() bool { return f.have(lockKey, "") == len(f.admins) })
}

// settled waits until nothing is under way, and no node has the lock.
func (f *fleet) settled(tb testing.TB, b *redlock.Backend) {
	tb.Helper()
	quiet(tb, b)
	f.allFree(tb)
}

func upTo(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return slices.Clip(s)
}
