package sqllock_test

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

// lease is the TTL of leases that the suite lets expire.
const lease = 250 * time.Millisecond

// SQLite needs no server, so the suite runs on it at all times. PostgreSQL has a
// Listener.
//
// Row 7 (sqllock): a holder that reaches no server, or hears from none, is told before another
// owner has the key. Fails if a lease is trusted for a second longer than it lasts.
// Row 8 (sqllock): the same owner gets the key again, a renewal without an answer is
// not a loss, and a release can be repeated. Fails if the row of an owner refuses that
// owner.
// Row 14 (sqllock): 200 waiters leave at once, and callers come whose context has ended: nothing
// is left. Fails if the place of a waiter stays that was released.
// Row 24 (sqllock): what was given back before Close is free for another process,
// and MinHold goes on. Fails if MinHold ends with the process.
// Row 9 (sqllock): operations are bounded. Fails if operations have no timeout.
func TestConformance(t *testing.T) {
	eachOf(t, everywhere, func(t *testing.T, of *store) {
		if of.engine != nil {
			testmode.Long(t)
		}
		admin := of.pool(t)
		place := map[bool]string{true: "$1", false: "?"}[of.dialect == sqllock.Postgres]
		user := of.withLeastPrivileges(t)
		open := func(t *testing.T) driver.Backend {
			if of.dialect == sqllock.Postgres {
				return user.listening(t)
			}
			return user.open(t)
		}
		features := locktest.Features{
			Lease: lease,
			Peer:  func(t *testing.T, _ driver.Backend) driver.Backend { return open(t) },
			Drop: func(t *testing.T, _ driver.Backend, key string) {
				exec(t, admin, "UPDATE distlock SET owner = '' WHERE lock_key = "+place, key)
			},
			NoNetwork: of.engine == nil,
			NoAddress: true,
		}
		if of.engine != nil {
			features.Over = func(t *testing.T, _ driver.Backend, n *locktest.Network) driver.Backend {
				return user.on(t, user.dialed(t, n.DialContext), sqllock.Config{OpTimeout: time.Second})
			}
		}
		locktest.Run(t, open, features)
	})
}

// withLeastPrivileges returns the store for a user that has the privileges of
// docs/operations.md and no others.
func (of *store) withLeastPrivileges(tb testing.TB) *store {
	tb.Helper()
	tables, admin := []string{"distlock", "distlock_member", "distlock_guard"}, "root@"
	switch of.dialect {
	case sqllock.SQLite:
		return of // it has no users
	case sqllock.Postgres:
		tables, admin = tables[:2], "postgres@"
	}
	user, db := "user_"+of.name, of.pool(tb)
	exec(tb, db, "CREATE USER "+user)
	for _, table := range tables {
		exec(tb, db, "GRANT SELECT, INSERT, UPDATE, DELETE ON "+table+" TO "+user)
	}
	limited := *of
	limited.dsn = strings.Replace(of.dsn, admin, user+"@", 1)
	return &limited
}

// TestEveryCall: every call works with settings of the session that do not matter,
// where each statement may go to another session, as behind a pooler in transaction
// mode, with a database in memory, and with drivers that can do little.
func TestEveryCall(t *testing.T) {
	each(t, func(t *testing.T, of *store) {
		db := of.pool(t)
		everyCall(t, of.on(t, db), db)
	})
	testmode.InRealTime(t)
	for name, c := range map[string]struct {
		d      database
		params string
	}{
		"MariaDB": {mariaDB, "?interpolateParams=true&clientFoundRows=true&time_zone=%27%2B05:30%27&tx_isolation=%27REPEATABLE-READ%27" +
			"&sql_mode=%27ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,STRICT_ALL_TABLES%27"},
		"PostgreSQL":      {postgres, "&TimeZone=Asia/Kolkata&DateStyle=German&standard_conforming_strings=off&default_transaction_isolation=repeatable%20read"},
		"exec":            {postgres, "&default_query_exec_mode=exec"},
		"simple protocol": {postgres, "&default_query_exec_mode=simple_protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := c.d.newStore(t).with(c.params).pool(t)
			if strings.Contains(c.params, "exec_mode") {
				db.SetMaxIdleConns(0) // a new connection each time
			}
			everyCall(t, c.d.on(t, db), db)
		})
	}
	db := inMemory(t, 1)
	everyCall(t, sqlite.on(t, db), db)
	plain := sql.OpenDB(plainConnector{db.Driver(), sqlite.newStore(t).dsn})
	t.Cleanup(func() { _ = plain.Close() })
	everyCall(t, sqlite.on(t, plain), plain)
}

// plainConnector opens connections that can do nothing but prepare statements, as the
// connections of some wrappers.
type plainConnector struct {
	driver sqldriver.Driver
	dsn    string
}

// Connect implements [sqldriver.Connector].
func (c plainConnector) Connect(context.Context) (sqldriver.Conn, error) {
	conn, err := c.driver.Open(c.dsn)
	return struct{ sqldriver.Conn }{conn}, err
}

// Driver implements [sqldriver.Connector].
func (c plainConnector) Driver() sqldriver.Driver { return c.driver }

// inMemory returns at most n connections, each to a database of its own.
func inMemory(t *testing.T, n int) *sql.DB {
	t.Helper()
	db := (&store{database: sqlite, dsn: ":memory:"}).pool(t)
	db.SetMaxOpenConns(n)
	if err := sqllock.CreateTable(t.Context(), db, sqllock.SQLite, ""); err != nil {
		t.Fatal(err)
	}
	return db
}

// everyCall calls every method once or more.
func everyCall(t *testing.T, b *sqllock.Backend, db *sql.DB) {
	t.Helper()
	if err := b.Ping(t.Context()); err != nil {
		t.Errorf("Ping: %v", err)
	}
	g := testkit.MustTry(t, b, request("key", time.Minute))
	reader := request("shared", time.Minute)
	reader.Mode = driver.Shared
	permit := request("semaphore", time.Minute)
	permit.Permits = 2
	grants := []driver.Grant{g, testkit.MustTry(t, b, reader), testkit.MustTry(t, b, permit)}
	for i, r := range driver.RenewAll(t.Context(), b, grants) {
		if r != nil {
			t.Errorf("Renew of grant %d: %v", i, r)
		}
	}
	for i := range grants {
		more, err := b.Extend(t.Context(), grants[i], 4)
		if err != nil || more.Token <= grants[i].LastToken {
			t.Errorf("Extend of grant %d: %+v, %v", i, more, err)
		}
	}
	commit(t, guard(t, b, db, g))
	next := testkit.StartWaiter(t, b, request("key", time.Minute))
	testkit.Eventually(t, "a place", func() bool { return waiting(t, b, "key") == 1 })
	if infos, err := b.Inspect(t.Context(), "", 10); err != nil || len(infos) != 3 {
		t.Errorf("Inspect: %+v, %v", infos, err)
	}
	for _, g := range grants {
		testkit.MustRelease(t, b, g)
	}
	more := next.Served(t)
	if held, err := b.ForceRelease(t.Context(), "key"); err != nil || !held {
		t.Errorf("ForceRelease: %v, %v", held, err)
	}
	if r := driver.RenewAll(t.Context(), b, []driver.Grant{more})[0]; !errors.Is(r, driver.ErrLost) {
		t.Errorf("Renew after ForceRelease: %v", r)
	}
	if err := b.Sweep(t.Context()); err != nil {
		t.Errorf("the sweep: %v", err)
	}
}
