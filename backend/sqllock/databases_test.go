package sqllock_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// patience is how long a test waits for what must happen soon.
const patience = 20 * time.Second

// database is a kind of database that the tests use.
type database struct {
	driver  string
	dialect sqllock.Dialect
	newDSN  func(tb testing.TB) string // of an empty database
}

var (
	postgres = database{"pgx", sqllock.Postgres, func(tb testing.TB) string {
		tb.Helper()
		s := sqltest.Postgres.Shared(tb)
		return s.DSN(s.NewDatabase(tb))
	}}
	mariaDB = database{"mysql", sqllock.MySQL, func(tb testing.TB) string {
		tb.Helper()
		s := sqltest.MariaDB.Shared(tb)
		return s.DSN(s.NewDatabase(tb))
	}}
	sqlite = database{"sqlite", sqllock.SQLite, func(tb testing.TB) string {
		tb.Helper()
		return "file:" + filepath.Join(tb.TempDir(), "locks.db") + "?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=busy_timeout(5000)"
	}}
)

// each runs a test on each kind of database, with the tables.
func each(t *testing.T, test func(t *testing.T, d database, dsn string)) {
	t.Helper()
	eachOf(t, []database{postgres, mariaDB, sqlite}, test)
}

func eachOf(t *testing.T, all []database, test func(t *testing.T, d database, dsn string)) {
	t.Helper()
	t.Parallel()
	for _, d := range all {
		t.Run(d.dialect.String(), func(t *testing.T) {
			t.Parallel()
			test(t, d, d.newTables(t))
		})
	}
}

// newTables returns the data source name of a new database with the tables.
func (d database) newTables(tb testing.TB) string {
	tb.Helper()
	dsn := d.newDSN(tb)
	db := d.pool(tb, dsn)
	for range 2 { // the second time it does nothing
		if err := sqllock.CreateTable(tb.Context(), db, d.dialect, ""); err != nil {
			tb.Fatal(err)
		}
	}
	return dsn
}

// pool returns the connections of an application.
func (d database) pool(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open(d.driver, dsn)
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
func (d database) open(tb testing.TB, dsn string, config ...sqllock.Config) *sqllock.Backend {
	tb.Helper()
	db := d.pool(tb, dsn)
	db.SetMaxOpenConns(10)
	db.SetMaxIdleConns(10)
	return d.on(tb, db, config...)
}

// on returns a Backend that is closed when the test ends, if not before. By default a busy
// machine does not cost an answer.
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

// request returns a request of a new owner.
func request(key string, ttl time.Duration) driver.Request {
	return driver.Request{Key: key, Owner: rand.Text() + "@host/1", TTL: ttl, Tokens: 1}
}

// ended waits until the lease of the key's holder has ended.
func ended(tb testing.TB, b *sqllock.Backend, key string) {
	tb.Helper()
	testkit.Eventually(tb, "the end of the lease", func() bool {
		infos, err := b.Inspect(tb.Context(), key, 1)
		if err != nil {
			tb.Fatal(err)
		}
		return len(infos) == 0
	})
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

// scan returns the one value of a query of the application.
func scan(tb testing.TB, db sqllock.Tx, query string) (s string) {
	tb.Helper()
	if err := db.QueryRowContext(tb.Context(), query).Scan(&s); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return s
}
