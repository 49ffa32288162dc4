package sqllock_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// fails checks an error for people: it is one line, and has all of the words.
func fails(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s is accepted", what)
		return
	}
	for _, w := range append(words, "sqllock: ") {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: %v\ndoes not have %q", what, err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "secret") {
		t.Errorf("%s: %q is not fit to be read", what, err)
	}
}

// What is wrong in the program is told when the Backend is made.
func TestNewRefuses(t *testing.T) {
	_, err := sqllock.New(nil, sqllock.SQLite, sqllock.Config{})
	fails(t, "no database", err, "nil")
	open := func(d database, limit int) *sql.DB {
		db, err := sql.Open(d.driver, map[sqllock.Dialect]string{sqllock.Postgres: "postgres://localhost", sqllock.MySQL: "/"}[d.dialect])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		db.SetMaxOpenConns(limit)
		return db
	}
	for want, c := range map[string]sqllock.Config{
		`Config.Table: the table "a\"b" is not a name`:     {Table: `a"b`},
		`Config.Table: the table "a.b.c" is not a name`:    {Table: "a.b.c"},
		`Config.Table: the table "a." is not a name`:       {Table: "a."},
		`Config.Table: the table "x; DROP`:                 {Table: "x; DROP TABLE y.z"},
		"Config.Table: the table":                          {Table: strings.Repeat("x", 49)},
		"Config.OpTimeout: 1µs is less than a millisecond": {OpTimeout: time.Microsecond},
		"Config.OpTimeout: -1s is less":                    {OpTimeout: -time.Second},
		"Config.Retention: 1s is less than a minute":       {Retention: time.Second},
		"Config.Listener: sqllock_test.deaf: MySQL has no": {Listener: deaf{}},
	} {
		_, err := sqllock.New(open(mariaDB, 0), mariaDB.dialect, c)
		fails(t, want, err, "sqllock: "+want)
	}
	for _, d := range servers {
		_, err = sqllock.New(open(d, 0), 0, sqllock.Config{})
		fails(t, "no dialect", err, "Dialect(0)")
		_, err = sqllock.New(open(d, 1), d.dialect, sqllock.Config{})
		fails(t, "one connection", err, "one connection")
	}
	_, err = sqllock.Schema(9, "")
	fails(t, "a schema of no dialect", err, "Dialect(9)")
	_, err = sqllock.Schema(sqllock.MySQL, "a b")
	fails(t, "a schema of no table", err, `"a b"`)
}

// deaf is a Listener that hears nothing.
type deaf struct{}

func (deaf) Listen(ctx context.Context, _ string, _ func(), _ func(string)) error {
	<-ctx.Done()
	return ctx.Err()
}

// tellsWhy checks that each call of a Backend that cannot work says why, and grants
// nothing.
func tellsWhy(t *testing.T, b *sqllock.Backend, words ...string) {
	t.Helper()
	ctx, r := t.Context(), request("key", time.Minute)
	for name, call := range map[string]func() error{
		"TryAcquire": func() error { _, err := b.TryAcquire(ctx, r); return err },
		"Enqueue":    func() error { _, err := b.Enqueue(ctx, r); return err },
		"Renew": func() error {
			got := testkit.Renewed(t, b, r.Grant())
			if !await.InDoubt(got) {
				t.Errorf("Renew: %v", got)
			}
			return got
		},
		"Extend":       func() error { _, err := b.Extend(ctx, r.Grant(), 1); return err },
		"Release":      func() error { return b.Release(ctx, r.Grant()) },
		"Inspect":      func() error { _, err := b.Inspect(ctx, "", 10); return err },
		"ForceRelease": func() error { _, err := b.ForceRelease(ctx, r.Key); return err },
		"Ping":         func() error { return b.Ping(ctx) },
	} {
		err := call()
		fails(t, name, err, words...)
		if !unknown(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTableOfAnotherVersion(t *testing.T) {
	each(t, func(t *testing.T, of *store) {
		db := of.pool(t)
		tellsWhy(t, of.open(t, sqllock.Config{Table: "locks"}), `"locks"`, "does not exist", "CreateTable")
		exec(t, db, "UPDATE distlock SET token = 99 WHERE lock_key = ''")
		tellsWhy(t, of.open(t), `"distlock"`, "version 99", "version 1")
		exec(t, db, "DELETE FROM distlock")
		tellsWhy(t, of.open(t), `"distlock"`, "no version")
		exec(t, db, "CREATE TABLE products (id int NOT NULL PRIMARY KEY)")
		tellsWhy(t, of.open(t, sqllock.Config{Table: "products"}), `"products"`, "column")
	})
}

// A server that cannot be reached is named, without the password.
func TestNoServer(t *testing.T) {
	t.Parallel()
	for _, of := range []*store{
		{database: postgres, dsn: "postgres://user:secret@127.0.0.1:1/shop?sslmode=disable"},
		{database: mariaDB, dsn: "user:secret@tcp(127.0.0.1:1)/shop"},
	} {
		tellsWhy(t, of.open(t), "127.0.0.1:1", "refused")
	}
}

// A table in a schema of PostgreSQL, or in another database of MySQL. The SQL that
// Schema returns creates it, with the server's own client, and does nothing the second
// time.
func TestTableInSchema(t *testing.T) {
	eachOf(t, servers, func(t *testing.T, of *store) {
		exec(t, of.pool(t), "CREATE SCHEMA IF NOT EXISTS shop")
		text, err := sqllock.Schema(of.dialect, "shop.locks")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			of.server.Exec(t, of.name, text)
		}
		b := of.open(t, sqllock.Config{Table: "shop.locks"})
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request("key", time.Minute)))
		scan(t, of.pool(t), "SELECT count(*) FROM shop.locks_member")
	})
}

// A request that makes no sense is refused before it is sent.
func TestRequestRefused(t *testing.T) {
	t.Parallel()
	b := sqlite.newStore(t).open(t)
	for what, change := range map[string]func(r *driver.Request){
		"a TTL below a millisecond":  func(r *driver.Request) { r.TTL = time.Microsecond },
		"no key":                     func(r *driver.Request) { r.Key = "" },
		"no owner":                   func(r *driver.Request) { r.Owner = "" },
		"a long key":                 func(r *driver.Request) { r.Key = strings.Repeat("k", 256) },
		"a long owner":               func(r *driver.Request) { r.Owner = strings.Repeat("o", 256) },
		"negative permits":           func(r *driver.Request) { r.Permits = -1 },
		"permits of a shared lock":   func(r *driver.Request) { r.Permits, r.Mode = 1, driver.Shared },
		"a mode that does not exist": func(r *driver.Request) { r.Mode = 7 },
	} {
		r := request("key", time.Minute)
		change(&r)
		_, err := b.TryAcquire(t.Context(), r)
		fails(t, what, err)
	}
}

// A Backend that is closed refuses calls, also of a waiter.
func TestClose(t *testing.T) {
	each(t, func(t *testing.T, of *store) {
		b := of.open(t)
		testkit.MustTry(t, b, request("key", time.Minute))
		w := testkit.StartWaiter(t, b, request("key", time.Minute))
		testkit.Eventually(t, "a place", func() bool { return waiting(t, b, "key") == 1 })
		if err := b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		<-w.Done
		fails(t, "Enqueue", w.Err, "closed")
		tellsWhy(t, b, "closed (unsupported operation)")
	})
}
