package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/bridge"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

var _ sqllock.Lease = (*distlock.Lease)(nil)

// granted is a lease of a test.
type granted struct{ g driver.Grant }

func (l granted) Key() string   { return l.g.Key }
func (l granted) Token() uint64 { return l.g.Token }

// begin begins a transaction of the application.
func begin(tb testing.TB, db *sql.DB, isolation sql.IsolationLevel) *sql.Tx {
	tb.Helper()
	tx, err := db.BeginTx(tb.Context(), &sql.TxOptions{Isolation: isolation})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

func commit(tb testing.TB, tx *sql.Tx) {
	tb.Helper()
	if err := tx.Commit(); err != nil {
		tb.Fatal(err)
	}
}

// guard begins a transaction that depends on the lease.
func guard(tb testing.TB, b *sqllock.Backend, db *sql.DB, g driver.Grant) *sql.Tx {
	tb.Helper()
	tx := begin(tb, db, sql.LevelDefault)
	if err := b.Guard(tb.Context(), tx, granted{g}); err != nil {
		tb.Fatalf("Guard with the newest lease: %v", err)
	}
	return tx
}

// shop returns the connections of an application, and its table.
func shop(t *testing.T, d database, dsn string) *sql.DB {
	t.Helper()
	db := d.pool(t, dsn)
	exec(t, db, "CREATE TABLE stock (item int NOT NULL PRIMARY KEY, count int NOT NULL)")
	exec(t, db, "INSERT INTO stock VALUES (1, 100)")
	return db
}

// waitsForWriter configures a Backend whose operations have to fail in SQLite because a
// transaction writes.
func waitsForWriter(d database) (c sqllock.Config) {
	if d.dialect == sqllock.SQLite {
		c.OpTimeout = 300 * time.Millisecond
	}
	return c
}

// The lease of a holder ends while its guarded transaction is open. No other owner gets
// the key before the transaction has ended, but a waiter gets its place. Then the
// transaction has written, the waiter has the key, and the late holder cannot write again.
func TestGuardKeepsOthersOut(t *testing.T) {
	each(t, func(t *testing.T, d database, dsn string) {
		db := shop(t, d, dsn)
		b := d.open(t, dsn)
		hurried := d.open(t, dsn, waitsForWriter(d))
		g := testkit.MustTry(t, b, request("key", time.Second))

		tx := guard(t, b, db, g)
		exec(t, tx, "UPDATE stock SET count = count - 1")
		ended(t, b, "key")
		for range 2 {
			_, err := hurried.TryAcquire(t.Context(), request("key", time.Minute))
			switch {
			case err == nil:
				t.Fatal("another owner got the key before the transaction has ended")
			case d.dialect != sqllock.SQLite && !errors.Is(err, driver.ErrNotAcquired):
				t.Fatalf("TryAcquire while the transaction is open: %v", err)
			}
		}
		next := testkit.StartWaiter(t, b, request("key", time.Minute))
		if d.dialect != sqllock.SQLite {
			testkit.Eventually(t, "a place in the queue", func() bool { return waiting(t, b, "key") == 1 })
		}
		next.MustWait(t)
		commit(t, tx)
		next.Served(t)
		if count := scan(t, db, "SELECT count FROM stock"); count != "99" {
			t.Errorf("the count is %s, want 99", count)
		}
		tx = begin(t, db, sql.LevelDefault)
		if err := b.Guard(t.Context(), tx, granted{g}); !errors.Is(err, sqllock.ErrStale) || !errors.Is(err, driver.ErrLost) {
			t.Errorf("Guard with the lease of the late holder: %v", err)
		}
	})
}

// While a guarded transaction is open, the holder renews its lease. SQLite has one writer.
func TestGuardLetsRenewalsPass(t *testing.T) {
	eachOf(t, []database{postgres, mariaDB}, func(t *testing.T, d database, dsn string) {
		db := shop(t, d, dsn)
		b := d.open(t, dsn)
		g := testkit.MustTry(t, b, request("key", time.Minute))
		tx := guard(t, b, db, g)
		for range 3 {
			if r := driver.RenewAll(t.Context(), b, []driver.Grant{g})[0]; r.Status != driver.Renewed {
				t.Fatalf("Renew: %v, %v", r.Status, r.Err)
			}
		}
		if _, err := b.Extend(t.Context(), g, 8); err != nil {
			t.Fatalf("Extend: %v", err)
		}
		commit(t, tx)
		commit(t, guard(t, b, db, g)) // the token before is still that of the holder
		testkit.MustRelease(t, b, g)
	})
}

// A key is not given back, and not taken away, before a guarded transaction has ended:
// the next owner would overlap with it.
func TestGuardBeforeRelease(t *testing.T) {
	each(t, func(t *testing.T, d database, dsn string) {
		db := shop(t, d, dsn)
		b := d.open(t, dsn)
		hurried := d.open(t, dsn, waitsForWriter(d))
		g := testkit.MustTry(t, b, request("key", time.Minute))
		tx := guard(t, b, db, g)
		if err := hurried.Release(t.Context(), g); err == nil || errors.Is(err, driver.ErrLost) {
			t.Errorf("Release before the transaction has ended: %v", err)
		}
		if _, err := hurried.ForceRelease(t.Context(), "key"); err == nil {
			t.Errorf("ForceRelease before the transaction has ended: %v", err)
		}
		if _, err := hurried.TryAcquire(t.Context(), request("key", time.Minute)); err == nil {
			t.Error("another owner got the key")
		}
		commit(t, tx)
		testkit.MustRelease(t, hurried, g)
		if err := b.Guard(t.Context(), begin(t, db, sql.LevelDefault), granted{g}); !errors.Is(err, sqllock.ErrStale) {
			t.Errorf("Guard after the release: %v", err)
		}
	})
}

// A release is refused because of a guarded transaction, and the lease ends. When another
// owner has the key, the release says so.
func TestGuardedReleaseTooLate(t *testing.T) {
	eachOf(t, []database{postgres, mariaDB}, func(t *testing.T, d database, dsn string) {
		db := shop(t, d, dsn)
		b := d.open(t, dsn)
		g := testkit.MustTry(t, b, request("key", time.Second))
		tx := guard(t, b, db, g)
		if err := b.Release(t.Context(), g); err == nil || errors.Is(err, driver.ErrLost) {
			t.Errorf("Release before the transaction has ended: %v", err)
		}
		ended(t, b, "key")
		commit(t, tx)
		testkit.MustTry(t, b, request("key", time.Minute))
		if err := b.Release(t.Context(), g); !errors.Is(err, driver.ErrLost) {
			t.Errorf("Release when another owner has the key: %v", err)
		}
	})
}

// A transaction that sees the database as it was before the takeover fails all the same.
func TestGuardOfSnapshot(t *testing.T) {
	each(t, func(t *testing.T, d database, dsn string) {
		db := shop(t, d, dsn)
		b := d.open(t, dsn)
		for range 2 { // the second time Guard was called for the key before
			g := testkit.MustTry(t, b, request("key", time.Minute))
			isolation := sql.LevelRepeatableRead
			if d.dialect == sqllock.SQLite {
				isolation = sql.LevelDefault
			}
			tx := begin(t, db, isolation)
			scan(t, tx, "SELECT count FROM stock")
			if held, err := b.ForceRelease(t.Context(), "key"); err != nil || !held {
				t.Fatalf("ForceRelease: %v, %v", held, err)
			}
			next := testkit.MustTry(t, b, request("key", time.Minute))
			if err := b.Guard(t.Context(), tx, granted{g}); err == nil {
				t.Error("Guard with the lease of the former holder, in a snapshot, succeeded")
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			commit(t, guard(t, b, db, next))
			testkit.MustRelease(t, b, next)
		}
	})
}

// Guard refuses what it cannot protect.
func TestGuardRefuses(t *testing.T) {
	each(t, func(t *testing.T, d database, dsn string) {
		db := shop(t, d, dsn)
		b := d.open(t, dsn)
		shared := request("shared", time.Minute)
		shared.Mode = driver.Shared
		g := testkit.MustTry(t, b, shared)
		held := testkit.MustTry(t, b, request("key", time.Minute))
		never := held
		never.Key = "never"
		none := held
		none.Token = 0
		for name, c := range map[string]struct {
			lease driver.Grant
			want  error
		}{
			"a lease that is shared": {g, errors.ErrUnsupported}, "a key that never was": {never, sqllock.ErrStale}, "no token": {none, nil},
		} {
			tx := begin(t, db, sql.LevelDefault)
			err := b.Guard(t.Context(), tx, granted{c.lease})
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("Guard with %s: %v", name, err)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A key that Guard was never called for is given back at once, with the statement that does
// not look for guarded transactions: it would find one here.
func TestReleaseOfUnguarded(t *testing.T) {
	eachOf(t, []database{postgres}, func(t *testing.T, d database, dsn string) {
		db := shop(t, d, dsn)
		b := d.open(t, dsn)
		g := testkit.MustTry(t, b, request("key", time.Minute))
		tx := begin(t, db, sql.LevelDefault)
		scan(t, tx, "SELECT token FROM distlock WHERE lock_key = 'key' FOR KEY SHARE")
		testkit.MustRelease(t, b, g)
		g = testkit.MustTry(t, b, request("key", time.Minute))
		commit(t, guard(t, b, db, g))
		if err := b.Release(t.Context(), g); err == nil || errors.Is(err, driver.ErrLost) {
			t.Errorf("Release when Guard was called for the key, and its row is locked: %v", err)
		}
		commit(t, tx)
		testkit.MustRelease(t, b, g)
	})
}

// The key is released, or also taken by another owner, when Guard has locked its row for the
// first time and not yet noted that. Guard finds that the lease is stale.
func TestGuardDuringRelease(t *testing.T) {
	eachOf(t, []database{postgres}, func(t *testing.T, d database, dsn string) {
		db := shop(t, d, dsn)
		b := d.open(t, dsn)
		for _, key := range []string{"free", "taken"} {
			g := testkit.MustTry(t, b, request(key, time.Minute))
			tx := begin(t, db, sql.LevelDefault)
			err := b.Guard(t.Context(), during{tx, func() {
				testkit.MustRelease(t, b, g)
				if key == "taken" {
					testkit.MustTry(t, b, request(key, time.Minute))
				}
			}}, granted{g})
			if !errors.Is(err, sqllock.ErrStale) {
				t.Errorf("Guard of a key that is %s: %v", key, err)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// during is a transaction in which something happens after the first statement.
type during struct {
	*sql.Tx

	happens func()
}

func (tx during) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	row := tx.Tx.QueryRowContext(ctx, query, args...)
	tx.happens()
	return row
}

// A release waits for the row while Guard notes its first call. Then it sees that, and does
// not give the key back.
func TestReleaseDuringGuard(t *testing.T) {
	eachOf(t, []database{postgres}, func(t *testing.T, d database, dsn string) {
		db := shop(t, d, dsn)
		b := d.open(t, dsn)
		g := testkit.MustTry(t, b, request("key", time.Minute))
		tx, first := begin(t, db, sql.LevelDefault), begin(t, db, sql.LevelDefault)
		scan(t, tx, "SELECT token FROM distlock WHERE lock_key = 'key' FOR KEY SHARE")
		exec(t, first, "UPDATE distlock SET guarded = 1 WHERE lock_key = 'key'")
		done := make(chan error, 1)
		go func() { done <- b.Release(t.Context(), g) }()
		testkit.Eventually(t, "the release waits", func() bool {
			return scan(t, db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == "1"
		})
		commit(t, first)
		if err := <-done; err == nil || errors.Is(err, driver.ErrLost) {
			t.Errorf("Release before the transaction has ended: %v", err)
		}
		commit(t, tx)
		testkit.MustRelease(t, b, g)
	})
}

// Guarded transactions hold all connections of the application but the reserved one when
// they call Guard for the first time. It needs a connection of its own.
func TestGuardWithoutConnections(t *testing.T) {
	eachOf(t, []database{postgres, mariaDB}, func(t *testing.T, d database, dsn string) {
		db := shop(t, d, dsn)
		db.SetMaxOpenConns(2)
		b := d.on(t, db)
		g := testkit.MustTry(t, b, request("key", time.Minute))
		commit(t, guard(t, b, db, g))
		testkit.MustRelease(t, b, g)
	})
}

// inLine returns the lease of a caller, and the next caller of the same process, which waits.
func inLine(t *testing.T, b *sqllock.Backend) (*distlock.Lease, *testkit.Waiting[*distlock.Lease]) {
	t.Helper()
	l := distlock.New(b, distlock.Config{HandOverTime: time.Hour})
	t.Cleanup(func() { _ = l.Close() })
	o := distlock.Opts{KeyTimeout: time.Minute, RetryInterval: 20 * time.Millisecond}
	lease := testkit.MustAcquire(t, l, "key", o)
	next := testkit.StartAcquire(t, l, "key", o)
	waiting := bridge.Waiting.(func(*distlock.Locker, string) int) //nolint:forcetypeassert // it is that
	testkit.Eventually(t, "the next caller waits", func() bool { return waiting(l, "key") == 1 })
	return lease, next
}

// The holder gives the lock back while its guarded transaction is open, and another caller of
// the process waits. It gets the key when the transaction has ended, as one elsewhere does.
func TestGuardBeforeHandOver(t *testing.T) {
	each(t, func(t *testing.T, d database, dsn string) {
		db := shop(t, d, dsn)
		b := d.open(t, dsn, waitsForWriter(d))
		lease, next := inLine(t, b)
		tx := begin(t, db, sql.LevelDefault)
		if err := b.Guard(t.Context(), tx, lease); err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(t.Context()); !errors.Is(err, distlock.ErrUnavailable) {
			t.Errorf("Release before the transaction has ended: %v", err)
		}
		next.MustWait(t)
		if _, err := b.TryAcquire(t.Context(), request("key", time.Minute)); err == nil {
			t.Error("another owner got the key")
		}
		next.MustWait(t)
		commit(t, tx)
		if err := next.Served(t).Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The lease is over by its own Check, because it was handed over: Guard refuses it, although
// its token is of the grant that the next holder has.
func TestGuardAfterHandOver(t *testing.T) {
	each(t, func(t *testing.T, d database, dsn string) {
		db := shop(t, d, dsn)
		b := d.open(t, dsn)
		lease, next := inLine(t, b)
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		holder := next.Served(t)
		tx := begin(t, db, sql.LevelDefault)
		if err := b.Guard(t.Context(), tx, lease); !errors.Is(err, sqllock.ErrStale) {
			t.Errorf("Guard with a lease that was handed over: %v", err)
		}
		if err := b.Guard(t.Context(), tx, holder); err != nil {
			t.Errorf("Guard of the holder: %v", err)
		}
		commit(t, tx)
	})
}

// A rollback to a savepoint would undo Guard below it, at least in PostgreSQL, which knows that
// and refuses. In the others the second call notices if the key was taken meanwhile. A
// savepoint that is released is no hindrance, and neither is another transaction.
func TestGuardBelowSavepoint(t *testing.T) {
	each(t, func(t *testing.T, d database, dsn string) {
		db := shop(t, d, dsn)
		b := d.open(t, dsn, waitsForWriter(d))
		var g driver.Grant
		testkit.Eventually(t, "it has the key", func() (ok bool) {
			var err error
			g, err = b.TryAcquire(t.Context(), request("key", time.Minute))
			return err == nil
		})
		tx := begin(t, db, sql.LevelDefault)
		exec(t, tx, "SAVEPOINT a")
		exec(t, tx, "UPDATE stock SET count = count - 1")
		exec(t, tx, "RELEASE SAVEPOINT a")
		if err := b.Guard(t.Context(), tx, granted{g}); err != nil {
			t.Error(err)
		}
		if d.dialect != sqllock.SQLite {
			commit(t, guard(t, b, db, g)) // both have locked the row
		}
		commit(t, tx)

		tx = begin(t, db, sql.LevelDefault)
		exec(t, tx, "SAVEPOINT a")
		err := b.Guard(t.Context(), tx, granted{g})
		if d.dialect == sqllock.Postgres {
			fails(t, "Guard below a savepoint", err, "savepoint")
			return
		}
		if err != nil {
			t.Error(err)
		}
		exec(t, tx, "ROLLBACK TO SAVEPOINT a")
		released := b.Release(t.Context(), g) == nil
		if err := b.Guard(t.Context(), tx, granted{g}); errors.Is(err, sqllock.ErrStale) != released {
			t.Errorf("Guard again, when the key was given back (%v): %v", released, err)
		}
	})
}
