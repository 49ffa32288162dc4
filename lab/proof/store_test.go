package proof_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// address is all that another process has to know about a store.
type address struct {
	Kind  string // the name of the backend
	Addrs []string

	// For ZooKeeper and etcd: the root node or the prefix, and how long the server keeps
	// the locks of a dead process.
	Root    string
	Session time.Duration
}

// dying returns the address for a process that will be killed, with leases of the given
// length. Those of ZooKeeper and etcd are at most half as long as the session.
func (a address) dying(lease time.Duration) address {
	a.Session = 2 * lease
	return a
}

// hasSessions reports whether the locks of a process end together with its session.
func (a address) hasSessions() bool { return a.Kind == "zklock" || a.Kind == "etcdlock" }

// hasQueue reports whether the store has the waiters in a queue.
func (a address) hasQueue() bool { return a.Kind != "redlock" }

// gone returns how long the store keeps a lease of a dead process.
func (a address) gone(lease time.Duration) time.Duration {
	if a.hasSessions() {
		return a.Session
	}
	return lease
}

// backend returns a Backend with connections of its own, which go through network, and
// a function that closes the connections.
func (a address) backend(network *spoilnet.Network) (driver.Backend, func() error, error) {
	switch a.Kind {
	case "zklock":
		b, err := zklock.New(a.Addrs, zklock.Config{Root: a.Root, SessionTimeout: a.Session,
			OpTimeout: 5 * time.Second, Dialer: network.DialTimeout})
		return b, func() error { return nil }, err
	case "etcdlock":
		dial := func(ctx context.Context, addr string) (net.Conn, error) { return network.DialContext(ctx, "tcp", addr) }
		c, err := clientv3.New(clientv3.Config{
			Endpoints: a.Addrs, Logger: zap.NewNop(), DialOptions: []grpc.DialOption{grpc.WithContextDialer(dial)},
		})
		if err != nil {
			return nil, nil, err
		}
		b, err := etcdlock.New(c, etcdlock.Config{Prefix: a.Root, SessionTTL: a.Session, OpTimeout: 5 * time.Second})
		return b, c.Close, err
	case "sqllock":
		return a.sql(network)
	}
	var clients []redis.UniversalClient
	for _, addr := range a.Addrs {
		clients = append(clients, redis.NewClient(&redis.Options{Addr: addr, Dialer: network.DialContext}))
	}
	end := func() error {
		var errs []error
		for _, c := range clients {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
	switch a.Kind {
	case "redlock":
		return newRedlock(clients), end, nil
	case "redissonlock":
		return redissonlock.New(clients[0], redissonlock.Config{}), end, nil
	}
	return redislock.New(clients[0], redislock.Config{OpTimeout: 5 * time.Second}), end, nil
}

// newRedlock returns a quorum with a long timeout, because a slow machine is not a
// fault.
func newRedlock(clients []redis.UniversalClient) driver.Backend {
	return redlock.New(clients, redlock.Config{TrustedStart: true, Tokens: true, NodeTimeout: 2 * time.Second})
}

// locker returns a Locker with connections of its own, and a function that closes both.
func (a address) locker(cfg distlock.Config) (*distlock.Locker, func() error, error) {
	b, end, err := a.backend(new(spoilnet.Network))
	if err != nil {
		return nil, nil, err
	}
	l := distlock.New(b, cfg)
	return l, func() error { return errors.Join(l.Close(), end()) }, nil
}

// store is a store for one test, which processes can share.
type store struct {
	address

	admins []*redis.Client // of Redis
}

// locker returns a Locker with connections of its own, as in another process. It is
// closed when the test ends.
func (s *store) locker(tb testing.TB) *distlock.Locker {
	tb.Helper()
	return testkit.NewLocker(tb, s.open(tb, new(spoilnet.Network)), distlock.Config{})
}

// unrenewed is a Backend without optional abilities, and with renewals that get no answer, so
// that leases end by themselves.
type unrenewed struct{ driver.Backend }

func (unrenewed) Renew(context.Context, []driver.Grant, func(int, error)) {}

// observed is locker with the double of a store between it and its Backend. Of the
// optional abilities it has only that of a Queuer.
func (s *store) observed(tb testing.TB, cfg distlock.Config) (*distlock.Locker, *testkit.Store) {
	tb.Helper()
	b := s.open(tb, new(spoilnet.Network))
	double, abilities := testkit.Wrap(b), testkit.Ability(0)
	if _, ok := b.(driver.Queuer); ok {
		abilities = testkit.Queuing
	}
	return testkit.NewLocker(tb, double.Only(abilities), cfg), double
}

// open returns a Backend with connections of its own, which are closed when the test ends.
func (s *store) open(tb testing.TB, n *spoilnet.Network) driver.Backend {
	tb.Helper()
	b, end, err := s.backend(n)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := end(); err != nil {
			tb.Errorf("closing: %v", err)
		}
	})
	return b
}

var starts = map[string]func(t *testing.T) *store{
	"redislock":    func(t *testing.T) *store { return startRedis(t, "redislock", 1, redistest.Start) },
	"redlock":      func(t *testing.T) *store { return startRedis(t, "redlock", 3, redistest.Start) },
	"redissonlock": func(t *testing.T) *store { return startRedis(t, "redissonlock", 1, redistest.Start) },
	"zklock":       startZooKeeper,
	"etcdlock":     startEtcd,
	"sqllock":      startPostgres,
}

// eachStore runs f on a store of each of the given kinds, in parallel, because the
// tests mostly wait.
func eachStore(t *testing.T, f func(t *testing.T, s *store), kinds ...string) {
	t.Helper()
	testmode.Long(t)
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f(t, starts[kind](t))
		})
	}
}

func startRedis(t *testing.T, kind string, servers int, start func(testing.TB, ...string) *redistest.Server) *store {
	t.Helper()
	s := &store{address: address{Kind: kind}}
	for range servers {
		server := start(t)
		s.Addrs = append(s.Addrs, server.Addr())
		s.admins = append(s.admins, server.Client(t))
	}
	if kind == "redlock" {
		// The first attempt makes the nodes trusted.
		l := s.locker(t)
		mustRelease(t, testkit.MustAcquire(t, l, "first", distlock.Opts{}))
	}
	return s
}

// zooKeeper is one server for all tests, because a JVM takes a second to start.
var zooKeeper zktest.Shared

func startZooKeeper(t *testing.T) *store {
	t.Helper()
	addr := zooKeeper.Server(t).Addr()
	root := "/" + strings.NewReplacer("/", "-", "#", "-").Replace(t.Name())
	return &store{address: address{
		Kind: "zklock", Addrs: []string{addr}, Root: root, Session: 20 * time.Second,
	}}
}

// etcd is one server for all tests.
var etcd etcdtest.Shared

func startEtcd(t *testing.T) *store {
	t.Helper()
	return &store{address: address{
		Kind: "etcdlock", Addrs: []string{etcd.Server(t).Addr()}, Root: t.Name() + "/", Session: 20 * time.Second,
	}}
}

// remains returns the locks, the queue entries, and everything without an expiry in the
// store.
func (s *store) remains(tb testing.TB) (names []string) {
	tb.Helper()
	ctx := context.Background()
	if len(s.admins) == 0 {
		l, end, err := s.address.locker(distlock.Config{})
		if err != nil {
			tb.Fatal(err)
		}
		defer end()
		keys, err := admin.Inspect(ctx, l, "", 100)
		if err != nil {
			tb.Fatal(err)
		}
		for _, k := range keys {
			names = append(names, fmt.Sprintf("%s (%d held, %d waiting)", k.Key, k.Held, k.Waiting))
		}
		return names
	}
	for i, c := range s.admins {
		keys, err := c.Keys(ctx, "*").Result()
		if err != nil {
			tb.Fatal(err)
		}
		for _, k := range keys {
			// Tokens of a quorum outlive their lock for a while, and so does the refusal of
			// a request that was abandoned. A server records the last token, and a node of
			// a quorum the age of its data.
			companion := strings.HasSuffix(k, "}:token") || strings.Contains(k, "}:gone")
			if k != "distlock:clock" && k != "distlock:redlock:memory" && (!companion || c.PTTL(ctx, k).Val() <= 0) {
				names = append(names, fmt.Sprintf("%s on server %d", k, i))
			}
		}
	}
	return names
}

// mustBeEmpty waits until nothing remains: abandoned requests are cleaned up in the
// background.
func (s *store) mustBeEmpty(tb testing.TB) {
	tb.Helper()
	var names []string
	if !child.Within(testkit.Patience, func() bool { names = s.remains(tb); return len(names) == 0 }) {
		tb.Errorf("left behind: %q", names)
	}
}
