package sqllock_test

import (
	"database/sql"
	"strconv"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// spoil executes statements on a connection and gives it back to its pool, as an
// application may that does not clean up behind itself.
func spoil(t *testing.T, c *sql.Conn, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		exec(t, c, statement)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// conn takes a connection of a pool.
func conn(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Sessions in which a lock would not work, or not exclude others, are refused by the
// first call, and by Ping, with the reason and what to do.
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
		"keys in LATIN1":           {postgres, "&client_encoding=LATIN1", "", []string{"client_encoding to UTF8"}},
		"no row":                   {mariaDB, "?sql_select_limit=0", "", []string{"sql_select_limit is 0"}},
		"safe updates":             {mariaDB, "?sql_safe_updates=1", "", []string{"sql_safe_updates is on"}},
		"small joins":              {mariaDB, "?max_join_size=1", "", []string{"sql_big_selects is off"}},
		"read-only in MariaDB":     {mariaDB, "?tx_read_only=1", "", []string{"READ ONLY", "let the session write"}},
		"read-only":                {postgres, "&default_transaction_read_only=on", "", []string{"read-only", "default_transaction_read_only"}},
		"a role without rights":    {postgres, "&role=pg_monitor", "", []string{"permission denied", "SELECT, INSERT, UPDATE and DELETE"}},
		"rights for one table":     {postgres, "&role=pg_monitor", "GRANT ALL ON distlock TO pg_monitor", []string{"distlock_member", "SELECT, INSERT, UPDATE and DELETE"}},
		"another schema":           {postgres, "&search_path=pg_catalog", "", []string{sqllock.ErrNoTable.Error()}},
		"no right to write a file": {sqlite, "&mode=ro", "", []string{"readonly"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			of := c.d.newStore(t)
			if c.setup != "" {
				exec(t, of.pool(t), c.setup)
			}
			tellsWhy(t, of.with(c.param).open(t), c.words...)
			fails(t, "CreateTable", sqllock.CreateTable(t.Context(), of.with(c.param).pool(t), of.dialect, "other"))
		})
	}
	tellsWhy(t, sqlite.on(t, inMemory(t, 0)), "in memory")
	for _, table := range []string{"distlock", "distlock_member", "distlock_guard"} {
		old := mariaDB.newStore(t)
		exec(t, old.pool(t), "ALTER TABLE "+table+" ENGINE = MyISAM")
		tellsWhy(t, old.open(t), "ENGINE must be InnoDB")
	}
	tellsWhy(t, (&script{unseen: true}).open(t, 4), "does not see what it writes") // it is in a transaction that was left open
}

// The application turns autocommit off in connections of the pool after the first
// check, and the pool closes them, which undoes what is not committed. A lock is
// refused, and not granted without a commit.
func TestAutocommitOffInPool(t *testing.T) {
	t.Parallel()
	of := mariaDB.newStore(t)
	db, b := of.limited(t, 4)
	peer := of.open(t)
	g := testkit.MustTry(t, b, request("held", time.Minute))
	testkit.MustRelease(t, b, testkit.MustTry(t, b, request("key", time.Minute)))
	for _, c := range takeAll(t, db) {
		spoil(t, c, "SET autocommit = 0")
	}
	_, err := b.TryAcquire(t.Context(), request("key", time.Minute))
	fails(t, "a session with autocommit off", err, "autocommit is off")
	more, err := b.Extend(t.Context(), g, 1)
	committed := scan(t, of.pool(t), "SELECT token FROM distlock WHERE lock_key = 'held'")
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

// The application turns autocommit off in a connection of the pool, or each COMMIT there
// begins a transaction, or the clock stands, or the server changes keys. Nobody gets a key
// that is held. A renewal is in doubt, with the reason, and the next one is committed.
func TestSpoiledInPool(t *testing.T) {
	t.Parallel()
	for i, spoils := range [][]string{
		{"SET client_encoding = 'LATIN1'"}, {"SET CHARACTER SET latin1"}, {"SET autocommit = 0"}, {"SET completion_type = 'CHAIN'", "COMMIT"},
		{"SET timestamp = 1000000000"}, {"SET timestamp = UNIX_TIMESTAMP() + 86400"},
	} {
		of := []database{postgres, mariaDB}[min(i, 1)].newStore(t)
		db, b := of.limited(t, 0)
		db.SetMaxIdleConns(1)
		r := request("hëld", time.Minute)
		r.Mode = driver.Mode(i % 2)
		g := testkit.MustTry(t, b, r)
		g.TTL = time.Hour
		spoil(t, conn(t, db), spoils...)
		testkit.MustBeBusy(t, b, g.Key)
		spoil(t, conn(t, db), spoils...)
		fails(t, spoils[0], testkit.Renewed(t, b, g), "autocommit is off")
		err := testkit.Renewed(t, b, g)
		if left := info(t, of.open(t), g.Key).Holders[0].ExpiresIn; err != nil || left < time.Hour/2 {
			t.Errorf("%s: the next renewal: %v, and held for %v, want an hour", spoils, err, left)
		}
	}

	of := postgres.newStore(t) // with a function of the same name, as some tests have
	exec(t, of.pool(t), "CREATE SCHEMA old; CREATE FUNCTION old.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$SELECT timestamptz '2099-01-01'$$")
	testkit.MustTry(t, of.open(t), request("held", time.Minute))
	testkit.MustBeBusy(t, of.with("&search_path=old,public,pg_catalog").open(t), "held")
}

// A trigger lets nobody write, and the database says nothing. A key is not granted that
// would be free to others.
func TestWritesAreIgnored(t *testing.T) {
	t.Parallel()
	for trigger, d := range map[string]database{
		"BEGIN SELECT RAISE(IGNORE); END":   sqlite,
		"FOR EACH ROW EXECUTE FUNCTION f()": postgres,
	} {
		of := d.newStore(t)
		b := of.open(t)
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request("key", time.Minute)))
		if d == postgres {
			exec(t, of.pool(t), "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
		}
		for _, on := range []string{"UPDATE", "INSERT"} {
			exec(t, of.pool(t), "CREATE TRIGGER no_"+on+" BEFORE "+on+" ON distlock "+trigger)
			_, err := b.TryAcquire(t.Context(), request(map[string]string{"UPDATE": "key", "INSERT": "new"}[on], time.Minute))
			fails(t, on+" is ignored", err, "triggers")
		}
	}
}

// A session returns one row. All who share a key count, and all leases are renewed.
func TestSessionOfOneRow(t *testing.T) {
	t.Parallel()
	b := mariaDB.newStore(t).with("?sql_select_limit=1").open(t)
	r, other := request("key", time.Minute), request("key", time.Minute)
	r.Mode, other.Mode = driver.Shared, driver.Shared
	readers := []driver.Grant{testkit.MustTry(t, b, r), testkit.MustTry(t, b, other)}
	if got := driver.RenewAll(t.Context(), b, readers); got[0] != nil || got[1] != nil {
		t.Errorf("the renewals: %v", got)
	}
	testkit.MustRelease(t, b, readers[0])
	testkit.MustBeBusy(t, b, "key")
}

// The application has left a transaction open on a connection of the pool. No lock is
// part of it: it is refused, and the transaction is undone.
func TestTransactionLeftInPool(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2} {
		of := sqlite.newStore(t)
		db, b := of.limited(t, n)
		for range 2 { // before the first check, and after it
			spoil(t, conn(t, db), "BEGIN", "UPDATE distlock SET since = since")
			_, err := b.TryAcquire(t.Context(), request("key", time.Minute))
			fails(t, "a transaction that was left open", err, "transaction")
		}
		g := testkit.MustTry(t, b, request("key", time.Minute))
		if got := scan(t, of.pool(t), "SELECT owner FROM distlock WHERE lock_key = 'key'"); got != g.Owner {
			t.Errorf("another session sees the owner %q", got)
		}
	}
}

// The server does not know a statement that pgx has prepared, as behind a pooler in
// transaction mode. The error says what to do.
func TestPreparedStatementIsGone(t *testing.T) {
	t.Parallel()
	db, b := postgres.newStore(t).limited(t, 2)
	testkit.MustTry(t, b, request("key", time.Minute))
	for _, c := range takeAll(t, db) {
		spoil(t, c, "DISCARD ALL")
	}
	_, err := b.TryAcquire(t.Context(), request("another", time.Minute))
	fails(t, "a statement that is not prepared", err, "prepared statement", "default_query_exec_mode=exec")
}
