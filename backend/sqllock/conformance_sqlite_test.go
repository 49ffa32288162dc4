package sqllock_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/testmode"
	"github.com/distlock-go/distlock/locktest"
)

// newSQLite returns the data source name of a new file with the tables.
func newSQLite(tb testing.TB) string {
	tb.Helper()
	testmode.InRealTime(tb)
	dsn := "file:" + filepath.Join(tb.TempDir(), "locks.db") + "?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=busy_timeout(5000)"
	createTable(tb, "sqlite", dsn, sqllock.SQLite)
	return dsn
}

func createTable(tb testing.TB, driverName, dsn string, d sqllock.Dialect, opts ...sqllock.Option) {
	tb.Helper()
	db, err := sql.Open(driverName, dsn)
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	for range 2 { // the second time it does nothing
		if err := sqllock.CreateTable(tb.Context(), db, d, opts...); err != nil {
			tb.Fatal(err)
		}
	}
}

// open returns a Backend that the conformance suite closes.
func open(tb testing.TB, driverName, dsn string, opts ...sqllock.Option) *sqllock.Backend {
	tb.Helper()
	b, err := sqllock.Open(driverName, dsn, append([]sqllock.Option{sqllock.WithOpTimeout(20 * time.Second)}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// conform runs the conformance suite on a database.
func conform(t *testing.T, driverName, dsn string, d sqllock.Dialect, opts ...sqllock.Option) {
	t.Helper()
	admin, err := sql.Open(driverName, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close() })
	place := "?"
	if d == sqllock.Postgres {
		place = "$1"
	}
	locktest.Run(t, func(t *testing.T) driver.Backend { return open(t, driverName, dsn, opts...) }, locktest.Features{
		Lease: 250 * time.Millisecond,
		Peer:  func(t *testing.T, _ driver.Backend) driver.Backend { return open(t, driverName, dsn, opts...) },
		Drop: func(t *testing.T, _ driver.Backend, key string) {
			if _, err := admin.Exec("UPDATE distlock SET owner = '' WHERE lock_key = "+place, key); err != nil {
				t.Fatal(err)
			}
		},
	})
}

func TestConformanceSQLite(t *testing.T) {
	t.Parallel()
	conform(t, "sqlite", newSQLite(t), sqllock.SQLite)
}

// In memory there is one connection, for all that a process does.
func TestConformanceSQLiteInMemory(t *testing.T) {
	t.Parallel()
	testmode.InRealTime(t)
	locktest.Run(t, func(t *testing.T) driver.Backend {
		db, err := sql.Open("sqlite", ":memory:")
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxOpenConns(1)
		t.Cleanup(func() { db.Close() })
		if err := sqllock.CreateTable(t.Context(), db, sqllock.SQLite); err != nil {
			t.Fatal(err)
		}
		b, err := sqllock.New(db, sqllock.SQLite, sqllock.WithOpTimeout(20*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}, locktest.Features{})
}
