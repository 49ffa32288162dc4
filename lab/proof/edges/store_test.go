package edges_test

import (
	"context"
	"database/sql"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/nats-io/nats.go"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/distlock-go/distlock/backend/casstores/natslock"
	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/backend/sqllock/pglisten"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/natstest"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// wires are the connections of one process, by the address that it asked for.
type wires struct {
	mu    sync.Mutex
	nets  map[string]*spoilnet.Network
	leads map[string]string // what an address leads to, if that is another server
}

func newWires() *wires {
	return &wires{nets: make(map[string]*spoilnet.Network), leads: make(map[string]string)}
}

func (w *wires) to(addr string) (n *spoilnet.Network, leads string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n = w.nets[addr]
	if n == nil {
		n = new(spoilnet.Network)
		w.nets[addr] = n
	}
	if leads = w.leads[addr]; leads == "" {
		leads = addr
	}
	return n, leads
}

func (w *wires) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	n, leads := w.to(addr)
	return n.DialContext(ctx, network, leads)
}

// Dial is dial for NATS.
func (w *wires) Dial(network, addr string) (net.Conn, error) {
	return w.dial(context.Background(), network, addr)
}

// move makes new connections to addr lead to another server.
func (w *wires) move(addr, to string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leads[addr] = to
}

// cut cuts all open connections without a word.
func (w *wires) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.nets {
		n.Cut()
	}
}

// silence makes addr silent, for new connections too.
func (w *wires) silence(addr string) {
	n, _ := w.to(addr)
	n.Hang(true)
}

// used returns one of the addresses that have an open connection.
func (w *wires) used(addrs []string) string {
	for _, addr := range addrs {
		if n, _ := w.to(addr); n.Open() > 0 {
			return addr
		}
	}
	return addrs[0]
}

// rig is a store for one edge. open returns a Backend with the defaults of the store and of
// its client, whose connections go through w.
type rig struct {
	open func(t *testing.T, w *wires) driver.Backend

	move    func(t *testing.T, w *wires) // nil: clients know the members by name
	silence func(t *testing.T, w *wires) // nil: the store is one server
	key     string                       // a key that the silence does not concern
}

// opTimeout is the longest default of the stores for one operation.
const opTimeout = 2 * time.Second

// stores has the rows of the table.
var stores = []struct {
	name  string
	start func(t *testing.T) rig
}{
	{"redislock", func(t *testing.T) rig {
		return oneRedis(t, func(c redis.UniversalClient) driver.Backend { return redislock.New(c, redislock.Config{}) })
	}},
	{"redislock, Sentinel", startSentinel},
	{"redislock, Cluster", startCluster},
	{"redissonlock", func(t *testing.T) rig {
		return oneRedis(t, func(c redis.UniversalClient) driver.Backend { return redissonlock.New(c, redissonlock.Config{}) })
	}},
	{"redlock", startRedlock},
	{"sqllock, PostgreSQL", startPostgres},
	{"sqllock, MariaDB", startMariaDB},
	{"etcdlock", startEtcd},
	{"zklock", startZooKeeper},
	{"natslock", startNATS},
}

func newRedis(t *testing.T, addr string, w *wires) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, Dialer: w.dial})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// readOnly makes a server of Redis a replica of one that does not exist, which refuses writes.
func readOnly(t *testing.T, s *redistest.Server) {
	t.Helper()
	if err := s.Client(t).Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
}

func oneRedis(t *testing.T, open func(redis.UniversalClient) driver.Backend) rig {
	t.Helper()
	was, now := redistest.Start(t), redistest.Start(t)
	return rig{
		open: func(t *testing.T, w *wires) driver.Backend { return open(newRedis(t, was.Addr(), w)) },
		move: func(t *testing.T, w *wires) {
			w.move(was.Addr(), now.Addr())
			readOnly(t, was)
		},
	}
}

func startSentinel(t *testing.T) rig {
	t.Helper()
	s := redistest.StartSentinels(t)
	var watchers []string
	for _, watcher := range s.Watchers {
		watchers = append(watchers, watcher.Addr())
	}
	return rig{
		open: func(t *testing.T, w *wires) driver.Backend {
			return redislock.New(s.Client(t, func(o *redis.FailoverOptions) { o.Dialer = w.dial }), redislock.Config{})
		},
		silence: func(_ *testing.T, w *wires) { w.silence(w.used(watchers)) },
	}
}

func startCluster(t *testing.T) rig {
	t.Helper()
	var addrs []string
	servers := redistest.StartCluster(t, 3)
	for _, s := range servers {
		addrs = append(addrs, s.Addr())
	}
	plain := redistest.ClusterClient(t, servers)
	own, err := plain.MasterForKey(t.Context(), "edge")
	if err != nil {
		t.Fatal(err)
	}
	return rig{
		key: "{edge}",
		open: func(t *testing.T, w *wires) driver.Backend {
			c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, Dialer: w.dial})
			t.Cleanup(func() { _ = c.Close() })
			return redislock.New(c, redislock.Config{})
		},
		silence: func(_ *testing.T, w *wires) {
			for _, addr := range addrs {
				if addr != own.Options().Addr {
					w.silence(addr)
					return
				}
			}
		},
	}
}

func startRedlock(t *testing.T) rig {
	t.Helper()
	servers := []*redistest.Server{redistest.Start(t), redistest.Start(t), redistest.Start(t)}
	next := redistest.Start(t)
	return rig{
		open: func(t *testing.T, w *wires) driver.Backend {
			var clients []redis.UniversalClient
			for _, s := range servers {
				clients = append(clients, newRedis(t, s.Addr(), w))
			}
			return redlock.New(clients, redlock.Config{TrustedStart: true, NodeTimeout: 500 * time.Millisecond}) // 50 ms are too few for a busy machine
		},
		move: func(t *testing.T, w *wires) {
			w.move(servers[0].Addr(), next.Addr())
			readOnly(t, servers[0])
		},
		silence: func(_ *testing.T, w *wires) { w.silence(servers[0].Addr()) },
	}
}

func startPostgres(t *testing.T) rig {
	t.Helper()
	was, now := sqltest.Postgres.Start(t), sqltest.Postgres.Start(t)
	open := func(t *testing.T, s *sqltest.Server, w *wires) (*sql.DB, *pgx.ConnConfig) {
		c, err := pgx.ParseConfig(s.DSN("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		c.DialFunc = w.dial
		db := stdlib.OpenDB(*c)
		t.Cleanup(func() { _ = db.Close() })
		return db, c
	}
	for _, s := range []*sqltest.Server{was, now} {
		db, _ := open(t, s, newWires())
		createTable(t, db, sqllock.Postgres)
	}
	return rig{
		open: func(t *testing.T, w *wires) driver.Backend {
			db, c := open(t, was, w)
			return newSQL(t, db, sqllock.Postgres, sqllock.Config{Listener: pglisten.New(c)})
		},
		move: func(t *testing.T, w *wires) {
			w.move(was.Addr(), now.Addr())
			was.Exec(t, "postgres", "ALTER SYSTEM SET default_transaction_read_only = on")
			was.Exec(t, "postgres", "SELECT pg_reload_conf()")
			testkit.Eventually(t, "it is read-only", func() bool {
				return was.Exec(t, "postgres", "SHOW default_transaction_read_only") == "on"
			})
		},
	}
}

func startMariaDB(t *testing.T) rig {
	t.Helper()
	was, now := sqltest.MariaDB.Start(t), sqltest.MariaDB.Start(t)
	for _, s := range []*sqltest.Server{was, now} { // root may write to a server that is read-only
		s.Exec(t, "mysql", "CREATE DATABASE shop")
		s.Exec(t, "mysql", "CREATE USER shop@'127.0.0.1' IDENTIFIED BY 'x'")
		s.Exec(t, "mysql", "GRANT ALL ON shop.* TO shop@'127.0.0.1'")
	}
	open := func(t *testing.T, s *sqltest.Server, w *wires) *sql.DB {
		c, err := mysql.ParseDSN("shop:x@tcp(" + s.Addr() + ")/shop")
		if err != nil {
			t.Fatal(err)
		}
		c.DialFunc = w.dial
		connector, err := mysql.NewConnector(c)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(connector)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	for _, s := range []*sqltest.Server{was, now} {
		createTable(t, open(t, s, newWires()), sqllock.MySQL)
	}
	return rig{
		open: func(t *testing.T, w *wires) driver.Backend {
			return newSQL(t, open(t, was, w), sqllock.MySQL, sqllock.Config{})
		},
		move: func(t *testing.T, w *wires) {
			w.move(was.Addr(), now.Addr())
			was.Exec(t, "mysql", "SET GLOBAL read_only = 1")
		},
	}
}

func createTable(t *testing.T, db *sql.DB, d sqllock.Dialect) {
	t.Helper()
	if err := sqllock.CreateTable(t.Context(), db, d, sqllock.DefaultTable); err != nil {
		t.Fatal(err)
	}
}

// newSQL limits the connections, as applications do: then one is reserved for renewals.
func newSQL(t *testing.T, db *sql.DB, d sqllock.Dialect, config sqllock.Config) driver.Backend {
	t.Helper()
	db.SetMaxOpenConns(10)
	b, err := sqllock.New(db, d, config)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func startEtcd(t *testing.T) rig {
	t.Helper()
	addrs := etcdtest.StartCluster(t).Addrs()
	return rig{
		open: func(t *testing.T, w *wires) driver.Backend {
			dial := func(ctx context.Context, addr string) (net.Conn, error) { return w.dial(ctx, "tcp", addr) }
			c, err := clientv3.New(clientv3.Config{
				Endpoints: addrs, Logger: zap.NewNop(), DialOptions: []grpc.DialOption{grpc.WithContextDialer(dial)},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			b, err := etcdlock.New(c, etcdlock.Config{})
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
		silence: func(_ *testing.T, w *wires) { w.silence(w.used(addrs)) },
	}
}

func startZooKeeper(t *testing.T) rig {
	t.Helper()
	addrs := zktest.StartEnsemble(t, zktest.Config{Settings: []string{"tickTime=2000"}}).Addrs()
	return rig{
		open: func(t *testing.T, w *wires) driver.Backend {
			b, err := zklock.New(addrs, zklock.Config{Dialer: func(network, addr string, timeout time.Duration) (net.Conn, error) {
				ctx, cancel := context.WithTimeout(context.Background(), timeout)
				defer cancel()
				return w.dial(ctx, network, addr)
			}})
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
		silence: func(_ *testing.T, w *wires) { w.silence(w.used(addrs)) },
	}
}

func startNATS(t *testing.T) rig {
	t.Helper()
	addr := natstest.Start(t, 1).Addrs()[0]
	return rig{open: func(t *testing.T, w *wires) driver.Backend {
		nc, err := nats.Connect(addr, nats.SetCustomDialer(w))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return natslock.New(nc, natslock.Config{})
	}}
}
