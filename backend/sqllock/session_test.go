package sqllock_test

import (
	"database/sql"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// limited returns a Backend on a pool of at most n connections.
func (d database) limited(t *testing.T, dsn string, n int) (*sql.DB, *sqllock.Backend) {
	t.Helper()
	db := d.pool(t, dsn)
	db.SetMaxOpenConns(n)
	return db, d.on(t, db)
}

// Sessions in which a lock would not work, or not exclude others, are refused by the first
// call, and by Ping, with the reason and what to do.
func TestSessionRefused(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		d     database
		param string
		setup string // of the database
		words []string
	}{
		"autocommit off":           {mariaDB, "?autocommit=0", "", []string{"autocommit is off", "data source name"}},
		"empty texts are NULL":     {mariaDB, "?sql_mode=%27EMPTY_STRING_IS_NULL%27", "", []string{"EMPTY_STRING_IS_NULL"}},
		"read-only in MariaDB":     {mariaDB, "?tx_read_only=1", "", []string{"READ ONLY", "let the session write"}},
		"read-only":                {postgres, "&default_transaction_read_only=on", "", []string{"read-only", "default_transaction_read_only"}},
		"a role without rights":    {postgres, "&role=pg_monitor", "", []string{"permission denied", "SELECT, INSERT, UPDATE and DELETE"}},
		"rights for one table":     {postgres, "&role=pg_monitor", "GRANT ALL ON distlock TO pg_monitor", []string{"distlock_member", "SELECT, INSERT, UPDATE and DELETE"}},
		"another schema":           {postgres, "&search_path=pg_catalog", "", []string{sqllock.ErrNoTable.Error()}},
		"databases in memory":      {database{"sqlite", sqllock.SQLite, func(testing.TB) string { return ":memory:" }}, "", "", []string{"in memory"}},
		"no right to write a file": {sqlite, "&mode=ro", "", []string{"readonly"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dsn := c.d.newDSN(t)
			db := c.d.pool(t, dsn)
			if err := sqllock.CreateTable(t.Context(), db, c.d.dialect, ""); err != nil {
				t.Fatal(err)
			}
			if c.setup != "" {
				exec(t, db, c.setup)
			}
			if dsn != ":memory:" {
				db = c.d.pool(t, dsn+c.param)
			}
			tellsWhy(t, c.d.on(t, db), c.words...)
		})
	}
}

// CreateTable does not say that tables work which do not.
func TestCreateTableRefuses(t *testing.T) {
	t.Parallel()
	dsn := mariaDB.newDSN(t)
	err := sqllock.CreateTable(t.Context(), mariaDB.pool(t, dsn+"?sql_mode=%27EMPTY_STRING_IS_NULL%27"), sqllock.MySQL, "")
	fails(t, "CreateTable with EMPTY_STRING_IS_NULL", err, "EMPTY_STRING_IS_NULL: remove it")
}

// Settings that do not matter: every call works.
func TestSessionSettings(t *testing.T) {
	t.Parallel()
	for d, param := range map[*database]string{
		&mariaDB: "?interpolateParams=true&clientFoundRows=true&time_zone=%27%2B05:30%27&tx_isolation=%27REPEATABLE-READ%27" +
			"&sql_mode=%27ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,STRICT_ALL_TABLES%27",
		&postgres: "&TimeZone=Asia/Kolkata&DateStyle=German&standard_conforming_strings=off&default_transaction_isolation=repeatable%20read",
	} {
		dsn := d.newTables(t) + param
		everyCall(t, d.open(t, dsn), d.pool(t, dsn))
	}
}

// The application turns autocommit off in connections of the pool after the first check, and
// the pool closes them, which undoes what is not committed. A lock is refused, and not granted
// without a commit.
func TestAutocommitOffInPool(t *testing.T) {
	t.Parallel()
	dsn := mariaDB.newTables(t)
	db, b := mariaDB.limited(t, dsn, 4)
	peer := mariaDB.open(t, dsn)
	g := testkit.MustTry(t, b, request("held", time.Minute))
	testkit.MustRelease(t, b, testkit.MustTry(t, b, request("key", time.Minute)))
	for _, c := range takeAll(t, db) {
		exec(t, c, "SET autocommit = 0")
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.TryAcquire(t.Context(), request("key", time.Minute))
	fails(t, "a session with autocommit off", err, "autocommit is off")
	more, err := b.Extend(t.Context(), g, 1)
	committed := scan(t, mariaDB.pool(t, dsn), "SELECT token FROM distlock WHERE lock_key = 'held'")
	if err == nil && committed != strconv.FormatUint(more.LastToken, 10) {
		t.Errorf("an extension to token %d, and %s is committed", more.LastToken, committed)
	}
	_ = b.Release(t.Context(), g) // refused, or carried out
	db.SetMaxIdleConns(-1)
	testkit.MustTry(t, peer, request("key", time.Minute))
	testkit.Eventually(t, "the key that was released is free", func() bool {
		_ = b.Release(t.Context(), g)
		_, err := peer.TryAcquire(t.Context(), request("held", time.Minute))
		return err == nil
	})
}

// The application has turned autocommit off in the connections of the pool. A renewal is in
// doubt, with the reason. The next ones have other connections, and are committed.
func TestAutocommitOffAtRenewal(t *testing.T) {
	t.Parallel()
	dsn := mariaDB.newTables(t)
	db, b := mariaDB.limited(t, dsn, 0)
	var grants []driver.Grant
	for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared} {
		r := request(mode.String(), time.Minute)
		r.Mode = mode
		g := testkit.MustTry(t, b, r)
		g.TTL = time.Hour
		grants = append(grants, g)
	}
	db.SetMaxIdleConns(1)
	for _, g := range grants {
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		exec(t, c, "SET autocommit = 0")
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		got := testkit.Renewed(t, b, g)
		fails(t, "a renewal with autocommit off", got.Err, "autocommit is off")
		if got := testkit.Renewed(t, b, g); got.Status != driver.Renewed {
			t.Errorf("%v: the next renewal: %v, %v", g.Mode, got.Status, got.Err)
		}
		held := new(driver.HeldError)
		if _, err := mariaDB.open(t, dsn).TryAcquire(t.Context(), request(g.Key, time.Minute)); !errors.As(err, &held) || held.RetryAfter < time.Hour/2 {
			t.Errorf("%v: held for %v, want an hour: %v", g.Mode, held.RetryAfter, err)
		}
	}
}

// The application has left a transaction open on a connection of the pool. No lock is part
// of it: it is refused, and the transaction is undone.
func TestTransactionLeftInPool(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2} {
		dsn := sqlite.newTables(t)
		db, b := sqlite.limited(t, dsn, n)
		for range 2 { // before the first check, and after it
			c, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			exec(t, c, "BEGIN")
			exec(t, c, "UPDATE distlock SET since = since")
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			_, err = b.TryAcquire(t.Context(), request("key", time.Minute))
			fails(t, "a transaction that was left open", err, "transaction")
		}
		g := testkit.MustTry(t, b, request("key", time.Minute))
		if got := scan(t, sqlite.pool(t, dsn), "SELECT owner FROM distlock WHERE lock_key = 'key'"); got != g.Owner {
			t.Errorf("another session sees the owner %q", got)
		}
	}
}

// A limit of the session for the wait for a row is shorter than the wait: the operation is
// repeated within its own limit.
func TestLockTimeoutOfSession(t *testing.T) {
	t.Parallel()
	for d, param := range map[*database]string{&postgres: "&lock_timeout=10", &mariaDB: "?innodb_lock_wait_timeout=1"} {
		dsn := d.newTables(t)
		db, b := d.pool(t, dsn), d.open(t, dsn+param)
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request("key", time.Minute)))
		tx := begin(t, db, 0)
		scan(t, tx, "SELECT token FROM distlock WHERE lock_key = 'key' FOR UPDATE")
		done := make(chan error, 1)
		go func() {
			_, err := b.TryAcquire(t.Context(), request("key", time.Minute))
			done <- err
		}()
		select {
		case err := <-done:
			t.Errorf("%v: TryAcquire while the row is locked: %v", d.dialect, err)
		case <-time.After(1200 * time.Millisecond):
			commit(t, tx)
			if err := <-done; err != nil {
				t.Errorf("%v: TryAcquire: %v", d.dialect, err)
			}
		}
	}
}

// The server does not know a statement that pgx has prepared, as behind a pooler in
// transaction mode. The error says what to do.
func TestPreparedStatementIsGone(t *testing.T) {
	t.Parallel()
	db, b := postgres.limited(t, postgres.newTables(t), 2)
	testkit.MustTry(t, b, request("key", time.Minute))
	for _, c := range takeAll(t, db) {
		exec(t, c, "DISCARD ALL")
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.TryAcquire(t.Context(), request("another", time.Minute))
	fails(t, "a statement that is not prepared", err, "prepared statement", "default_query_exec_mode=exec")
}
