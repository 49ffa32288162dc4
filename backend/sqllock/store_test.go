package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/sqltest"
)

// store is a database, with the tables, to which a test does harm.
type store struct {
	database

	dsn    string
	server *sqltest.Server
	name   string // on the server
}

// onServer returns a store on a server.
func onServer(t *testing.T, d database, s *sqltest.Server) *store {
	t.Helper()
	of := &store{database: d, server: s, name: s.NewDatabase(t)}
	of.dsn = s.DSN(of.name)
	if err := sqllock.CreateTable(t.Context(), of.pool(t), d.dialect, ""); err != nil {
		t.Fatal(err)
	}
	return of
}

// eachShared runs f with stores on the servers that all tests share.
func eachShared(t *testing.T, f func(t *testing.T, of *store)) {
	t.Helper()
	eachServer(t, func(tb testing.TB, e *sqltest.Engine) *sqltest.Server { tb.Helper(); return e.Shared(tb) }, f)
}

// eachOwn runs f with stores on servers of their own.
func eachOwn(t *testing.T, f func(t *testing.T, of *store)) {
	t.Helper()
	eachServer(t, func(tb testing.TB, e *sqltest.Engine) *sqltest.Server { tb.Helper(); return e.Start(tb) }, f)
}

func eachServer(t *testing.T, server func(tb testing.TB, e *sqltest.Engine) *sqltest.Server, f func(t *testing.T, of *store)) {
	t.Helper()
	t.Parallel()
	for d, engine := range map[*database]*sqltest.Engine{&postgres: sqltest.Postgres, &mariaDB: sqltest.MariaDB} {
		t.Run(d.dialect.String(), func(t *testing.T) {
			t.Parallel()
			f(t, onServer(t, *d, server(t, engine)))
		})
	}
}

// pool returns the connections of an application.
func (of *store) pool(t *testing.T) *sql.DB { return of.database.pool(t, of.dsn) }

// open returns a Backend that is closed when the test ends.
func (of *store) open(t *testing.T, config ...sqllock.Config) *sqllock.Backend {
	t.Helper()
	return of.database.open(t, of.dsn, config...)
}

// locker returns a process: a Locker with a Backend of its own.
func (of *store) locker(t *testing.T, config ...sqllock.Config) *distlock.Locker {
	t.Helper()
	l := distlock.New(of.database.open(t, of.dsn, config...), distlock.Config{})
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// waiting returns how many wait for a key.
func waiting(t *testing.T, b *sqllock.Backend, key string) int {
	t.Helper()
	infos, err := b.Inspect(t.Context(), key, 1)
	if err != nil {
		t.Fatalf("Inspect: %v", err)
	}
	for _, info := range infos {
		if info.Key == key {
			return info.Waiting
		}
	}
	return 0
}

// unknown reports whether an error leaves the outcome open.
func unknown(err error) bool {
	return err != nil && !errors.Is(err, driver.ErrLost) && !errors.Is(err, driver.ErrNotAcquired)
}

// over returns a Backend that reaches the database over a network with faults.
func (of *store) over(t *testing.T, timeout time.Duration) (*sqllock.Backend, *spoilnet.Network) {
	t.Helper()
	n := new(spoilnet.Network)
	db := of.dialed(t, of.dsn, n.DialContext)
	t.Cleanup(n.Kill)
	return of.on(t, db, sqllock.Config{OpTimeout: timeout}), n
}

// dialed returns connections that dial makes.
func (of *store) dialed(t *testing.T, dsn string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) (db *sql.DB) {
	t.Helper()
	t.Cleanup(func() { _ = db.Close() }) // there may be connections that are cut
	if of.dialect == sqllock.Postgres {
		config, err := pgx.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		config.DialFunc = dial
		return stdlib.OpenDB(*config)
	}
	config, err := mysql.ParseDSN(dsn)
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
