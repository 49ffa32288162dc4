package sqllock_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/sqltest"
)

// patience is how long a test waits for what must happen soon.
const patience = 20 * time.Second

// database is a kind of database that the tests use.
type database struct {
	driver  string
	dialect sqllock.Dialect
	engine  *sqltest.Engine // nil: it needs no server
}

var (
	postgres = database{"pgx", sqllock.Postgres, sqltest.Postgres}
	mariaDB  = database{"mysql", sqllock.MySQL, sqltest.MariaDB}
	sqlite   = database{"sqlite", sqllock.SQLite, nil}
)

// everywhere and servers are the kinds of databases that a test runs on.
var (
	everywhere = []database{postgres, mariaDB, sqlite}
	servers    = everywhere[:2]
)

// store is a database with the tables.
type store struct {
	database

	dsn    string
	server *sqltest.Server // nil: it is a file
	name   string          // on the server
}

// each runs a test on each kind of database.
func each(t *testing.T, test func(t *testing.T, of *store)) {
	t.Helper()
	eachOf(t, quick(everywhere), test)
}

// eachOwn runs a test with servers of its own.
func eachOwn(t *testing.T, test func(t *testing.T, of *store)) {
	t.Helper()
	eachOf(t, servers, func(t *testing.T, of *store) { test(t, of.onServer(t, of.engine.Start(t))) })
}

func eachOf(t *testing.T, all []database, test func(t *testing.T, of *store)) {
	t.Helper()
	t.Parallel()
	for _, d := range all {
		t.Run(d.dialect.String(), func(t *testing.T) {
			t.Parallel()
			test(t, d.newStore(t))
		})
	}
}

// newStore returns a new store, on the servers that all tests share.
func (d database) newStore(tb testing.TB) *store {
	tb.Helper()
	if d.engine != nil {
		return d.onServer(tb, d.engine.Shared(tb))
	}
	dsn := "file:" + filepath.Join(tb.TempDir(), "locks.db") + "?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=busy_timeout(5000)"
	return (&store{database: d, dsn: dsn}).withTables(tb)
}

// onServer returns a new store on a server.
func (d database) onServer(tb testing.TB, s *sqltest.Server) *store {
	tb.Helper()
	name := s.NewDatabase(tb)
	return (&store{d, s.DSN(name), s, name}).withTables(tb)
}

func (of *store) withTables(tb testing.TB) *store {
	tb.Helper()
	db := of.pool(tb)
	for range 2 { // the second time it does nothing
		if err := sqllock.CreateTable(tb.Context(), db, of.dialect, ""); err != nil {
			tb.Fatal(err)
		}
	}
	return of
}

// with returns the store for sessions with parameters.
func (of *store) with(params string) *store {
	other := *of
	other.dsn += params
	return &other
}

// pool returns the connections of an application.
func (of *store) pool(tb testing.TB) *sql.DB {
	tb.Helper()
	db, err := sql.Open(of.driver, of.dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

// open returns a Backend with connections of its own.
func (of *store) open(tb testing.TB, config ...sqllock.Config) *sqllock.Backend {
	tb.Helper()
	db := of.pool(tb)
	db.SetMaxOpenConns(10)
	db.SetMaxIdleConns(10)
	return of.on(tb, db, config...)
}

// limited returns a Backend on a pool of at most n connections.
func (of *store) limited(t *testing.T, n int) (*sql.DB, *sqllock.Backend) {
	t.Helper()
	db := of.pool(t)
	db.SetMaxOpenConns(n)
	return db, of.on(t, db)
}

// on returns a Backend that is closed when the test ends, if not before. By default a
// busy machine does not cost an answer.
func (d database) on(tb testing.TB, db *sql.DB, config ...sqllock.Config) *sqllock.Backend {
	tb.Helper()
	c := append(config, sqllock.Config{})[0]
	c.OpTimeout = cmp.Or(c.OpTimeout, patience)
	b, err := sqllock.New(db, d.dialect, c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := b.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return b
}

// locker returns a process: a Locker with a Backend of its own.
func (of *store) locker(t *testing.T, config ...sqllock.Config) *distlock.Locker {
	t.Helper()
	l := distlock.New(of.open(t, config...), distlock.Config{})
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// dialed returns connections that dial makes.
func (of *store) dialed(t *testing.T, dial func(ctx context.Context, network, addr string) (net.Conn, error)) (db *sql.DB) {
	t.Helper()
	t.Cleanup(func() { _ = db.Close() }) // there may be connections that are cut
	if of.dialect == sqllock.Postgres {
		config, err := pgx.ParseConfig(of.dsn)
		if err != nil {
			t.Fatal(err)
		}
		config.DialFunc = dial
		return stdlib.OpenDB(*config)
	}
	config, err := mysql.ParseDSN(of.dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = dial
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	return sql.OpenDB(connector)
}

// request returns a request of a new owner.
func request(key string, ttl time.Duration) driver.Request {
	return driver.Request{Key: key, Owner: rand.Text() + "@host/1", TTL: ttl, Tokens: 1}
}

// info returns what Inspect says about a key.
func info(tb testing.TB, b *sqllock.Backend, key string) driver.KeyInfo {
	tb.Helper()
	infos, err := b.Inspect(tb.Context(), key, 0)
	if err != nil {
		tb.Fatalf("Inspect: %v", err)
	}
	return append(infos, driver.KeyInfo{})[0]
}

// waiting returns how many wait for a key.
func waiting(tb testing.TB, b *sqllock.Backend, key string) int {
	tb.Helper()
	return info(tb, b, key).Waiting
}

// unknown reports whether an error leaves the outcome open.
func unknown(err error) bool {
	return err != nil && !errors.Is(err, driver.ErrLost) && !errors.Is(err, driver.ErrNotAcquired)
}

// exec runs a statement of the application.
func exec(tb testing.TB, db interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, query string, args ...any) {
	tb.Helper()
	if _, err := db.ExecContext(tb.Context(), query, args...); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

// scan returns the value that a query of the application returns.
func scan(tb testing.TB, db sqllock.Tx, query string) (s string) {
	tb.Helper()
	if err := db.QueryRowContext(tb.Context(), query).Scan(&s); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return s
}

// sessions returns the other sessions of the database, or only the ones that wait for a
// lock.
func (of *store) sessions(t *testing.T, waiting bool) []string {
	t.Helper()
	query := "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
	only := " AND wait_event_type = 'Lock'"
	if of.dialect == sqllock.MySQL {
		query = "SELECT id FROM information_schema.processlist WHERE db = database() AND id <> connection_id()"
		only = " AND command <> 'Sleep' AND time_ms > 50"
	}
	if waiting {
		query += only
	}
	return strings.Fields(of.server.Exec(t, of.name, query))
}
