package proof_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// address is all that another process has to know about a store.
type address struct {
	Kind string   // the name of the backend
	URLs []string // for package backendurl

	// For ZooKeeper and etcd: how long the server keeps the locks of a dead process, and
	// etcd's prefix.
	Session time.Duration
	Prefix  string
}

// dying returns the address for a process that will be killed, with leases of the given
// length. Those of ZooKeeper and etcd are at most half as long as the session.
func (a address) dying(lease time.Duration) address {
	a.Session = 2 * lease
	return a
}

// gone returns how long the store keeps a lease of a dead process.
func (a address) gone(lease time.Duration) time.Duration {
	if a.Kind == "zklock" || a.Kind == "etcdlock" {
		return a.Session
	}
	return lease
}

// locker returns a Locker with connections of its own, and a function that closes both.
func (a address) locker(cfg distlock.Config) (*distlock.Locker, func() error, error) {
	var opened []*backendurl.Backend
	var nodes []redis.UniversalClient
	for _, url := range a.URLs {
		if a.Kind == "zklock" {
			url += "?session_timeout=" + a.Session.String()
		}
		b, err := backendurl.Connect(context.Background(), url)
		if err != nil {
			return nil, nil, err
		}
		opened = append(opened, b)
		if c, ok := b.Client.(*redis.Client); ok {
			nodes = append(nodes, c)
		}
	}
	backend := opened[0].Backend
	switch a.Kind {
	case "redlock": // with a long timeout, because a slow machine is not a fault
		backend = redlock.New(nodes, redlock.Config{TrustedStart: true, Tokens: true, NodeTimeout: 2 * time.Second})
	case "etcdlock":
		err := backend.(io.Closer).Close() // a URL has no session
		if err == nil {
			client := opened[0].Client.(*clientv3.Client) //nolint:forcetypeassert // its documentation says so
			backend, err = etcdlock.New(client, etcdlock.Config{Prefix: a.Prefix, SessionTTL: a.Session})
		}
		if err != nil {
			return nil, nil, err
		}
	}
	l := distlock.New(backend, cfg)
	return l, func() error {
		errs := []error{l.Close()}
		for _, b := range opened {
			errs = append(errs, b.Close())
		}
		return errors.Join(errs...)
	}, nil
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
	l, end, err := s.address.locker(distlock.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := end(); err != nil {
			tb.Errorf("closing: %v", err)
		}
	})
	return l
}

var starts = map[string]func(t *testing.T) *store{
	"redislock":    func(t *testing.T) *store { return startRedis(t, "redislock", 1, "") },
	"redlock":      func(t *testing.T) *store { return startRedis(t, "redlock", 3, "") },
	"redissonlock": func(t *testing.T) *store { return startRedis(t, "redissonlock", 1, "?record=redisson") },
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

func startRedis(t *testing.T, kind string, servers int, parameters string) *store {
	t.Helper()
	s := &store{address: address{Kind: kind}}
	for range servers {
		server := redistest.Start(t)
		s.URLs = append(s.URLs, "redis://"+server.Addr()+"/0"+parameters)
		s.admins = append(s.admins, server.Client(t))
	}
	if kind == "redlock" {
		// The first attempt makes the nodes trusted.
		l := s.locker(t)
		mustRelease(t, testkit.MustAcquire(t, l, "first", distlock.Opts{}))
	}
	return s
}

// session is how long the locks of a process stay that is not to be killed.
const session = 20 * time.Second

var names = strings.NewReplacer("/", "-", "#", "-")

func startZooKeeper(t *testing.T) *store {
	t.Helper()
	return &store{address: address{
		Kind: "zklock", URLs: []string{"zk://" + zktest.Shared(t).Addr() + "/" + names.Replace(t.Name())}, Session: session,
	}}
}

func startEtcd(t *testing.T) *store {
	t.Helper()
	return &store{address: address{
		Kind: "etcdlock", URLs: []string{"etcd://" + etcdtest.Shared(t).Addr()}, Session: session, Prefix: t.Name() + "/",
	}}
}

func startPostgres(t *testing.T) *store {
	t.Helper()
	s := &store{address: address{Kind: "sqllock", URLs: []string{sqltest.Postgres.NewDatabase(t)}}}
	b, err := backendurl.Open(t.Context(), s.URLs[0]) // creates the tables
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Backend.(io.Closer).Close(), b.Close()); err != nil { //nolint:forcetypeassert // sqllock is one
		t.Fatal(err)
	}
	return s
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
