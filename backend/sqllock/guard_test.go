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

// shop is an application with a table and locks in one database.
type shop struct {
	*store
	t  *testing.T
	db *sql.DB
	b  *sqllock.Backend

	// For operations that have to fail in SQLite, because a transaction writes.
	hurried *sqllock.Backend
}

// eachShop runs a test with a shop in each of the kinds of databases.
func eachShop(t *testing.T, all []database, test func(s *shop)) {
	t.Helper()
	eachOf(t, all, func(t *testing.T, of *store) {
		s := &shop{store: of, t: t, db: of.pool(t), b: of.open(t)}
		if s.hurried = s.b; of.dialect == sqllock.SQLite {
			s.hurried = of.open(t, sqllock.Config{OpTimeout: 300 * time.Millisecond})
		}
		exec(t, s.db, "CREATE TABLE stock (item int NOT NULL PRIMARY KEY, count int NOT NULL)")
		exec(t, s.db, "INSERT INTO stock VALUES (1, 100)")
		test(s)
	})
}

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

// acquire acquires the key.
func (s *shop) acquire() driver.Grant {
	s.t.Helper()
	return testkit.MustTry(s.t, s.b, request("key", time.Minute))
}

// mustBeStale checks that Guard refuses the lease, in a transaction that it ends.
func (s *shop) mustBeStale(what string, tx *sql.Tx, lease sqllock.Lease) {
	s.t.Helper()
	if err := s.b.Guard(s.t.Context(), tx, lease); !errors.Is(err, sqllock.ErrStale) || !errors.Is(err, driver.ErrLost) {
		s.t.Errorf("Guard with %s: %v", what, err)
	}
	if err := tx.Rollback(); err != nil {
		s.t.Fatal(err)
	}
}

// mustBeGuarded checks that nothing takes the key from a holder with an open
// transaction.
func (s *shop) mustBeGuarded(g driver.Grant) {
	s.t.Helper()
	if err := s.hurried.Release(s.t.Context(), g); !unknown(err) {
		s.t.Errorf("Release before the transaction has ended: %v", err)
	}
	if _, err := s.hurried.ForceRelease(s.t.Context(), g.Key); !unknown(err) {
		s.t.Errorf("ForceRelease before the transaction has ended: %v", err)
	}
	for _, permits := range []int{0, 2} {
		r := request(g.Key, time.Minute)
		r.Permits = permits
		_, err := s.hurried.TryAcquire(s.t.Context(), r)
		if err == nil || s.dialect != sqllock.SQLite && !errors.Is(err, driver.ErrNotAcquired) {
			s.t.Errorf("TryAcquire before the transaction has ended: %v", err)
		}
	}
}

// A key is not given back, and not taken away, before a guarded transaction has ended,
// even if the lease ends before. A waiter gets its place, and the key when the
// transaction has written. The late holder cannot write again, and its release says so.
func TestGuardKeepsOthersOut(t *testing.T) {
	eachShop(t, everywhere, func(s *shop) {
		g := testkit.MustTry(s.t, s.b, request("key", time.Second))
		tx := guard(s.t, s.b, s.db, g)
		exec(s.t, tx, "UPDATE stock SET count = count - 1")
		testkit.Eventually(s.t, "the end of the lease", func() bool { return info(s.t, s.b, "key").Held == 0 })
		s.mustBeGuarded(g)
		next := testkit.StartWaiter(s.t, s.b, request("key", time.Minute))
		if s.dialect != sqllock.SQLite {
			testkit.Eventually(s.t, "a place in the queue", func() bool { return waiting(s.t, s.b, "key") == 1 })
		}
		next.MustWait(s.t)
		commit(s.t, tx)
		next.Served(s.t)
		if count := scan(s.t, s.db, "SELECT count FROM stock"); count != "99" {
			s.t.Errorf("the count is %s, want 99", count)
		}
		s.mustBeStale("the lease of the late holder", begin(s.t, s.db, sql.LevelDefault), granted{g})
		if err := s.b.Release(s.t.Context(), g); !errors.Is(err, driver.ErrLost) {
			s.t.Errorf("Release when another owner has the key: %v", err)
		}
	})
}

// The same while the lease lasts, and after it. Then the holder gives the key back.
func TestGuardBeforeRelease(t *testing.T) {
	eachShop(t, quick(everywhere), func(s *shop) {
		for _, ttl := range []time.Duration{50 * time.Millisecond, time.Minute} {
			g := testkit.MustTry(s.t, s.b, request("key", ttl))
			tx := guard(s.t, s.b, s.db, g)
			testkit.Eventually(s.t, "the end of the lease", func() bool { return ttl > time.Second || info(s.t, s.b, "key").Held == 0 })
			s.mustBeGuarded(g)
			commit(s.t, tx)
			if err := s.b.Release(s.t.Context(), g); err != nil && !errors.Is(err, driver.ErrLost) {
				s.t.Errorf("Release after the transaction: %v", err)
			}
			s.mustBeStale("a lease that was released", begin(s.t, s.db, sql.LevelDefault), granted{g})
		}
	})
}

// While a guarded transaction is open, the holder renews its lease. SQLite has one
// writer.
func TestGuardLetsRenewalsPass(t *testing.T) {
	eachShop(t, quick(servers), func(s *shop) {
		g := s.acquire()
		tx := guard(s.t, s.b, s.db, g)
		for range 3 {
			if r := testkit.Renewed(s.t, s.b, g); r != nil {
				s.t.Fatalf("Renew: %v", r)
			}
		}
		if _, err := s.b.Extend(s.t.Context(), g, 8); err != nil {
			s.t.Fatalf("Extend: %v", err)
		}
		commit(s.t, tx)
		commit(s.t, guard(s.t, s.b, s.db, g)) // the token before is still of the holder
		testkit.MustRelease(s.t, s.b, g)
	})
}

// A transaction that sees the database as it was before the takeover fails all the
// same.
func TestGuardOfSnapshot(t *testing.T) {
	eachShop(t, everywhere, func(s *shop) {
		for range 2 { // the second time Guard was called for the key before
			g := s.acquire()
			isolation := sql.LevelRepeatableRead
			if s.dialect == sqllock.SQLite {
				isolation = sql.LevelDefault
			}
			tx := begin(s.t, s.db, isolation)
			scan(s.t, tx, "SELECT count FROM stock")
			if held, err := s.b.ForceRelease(s.t.Context(), "key"); err != nil || !held {
				s.t.Fatalf("ForceRelease: %v, %v", held, err)
			}
			next := s.acquire()
			if err := s.b.Guard(s.t.Context(), tx, granted{g}); err == nil {
				s.t.Error("Guard with the lease of the former holder, in a snapshot, succeeded")
			}
			if err := tx.Rollback(); err != nil {
				s.t.Fatal(err)
			}
			commit(s.t, guard(s.t, s.b, s.db, next))
			testkit.MustRelease(s.t, s.b, next)
		}
	})
}

// Guard refuses what it cannot protect.
func TestGuardRefuses(t *testing.T) {
	eachShop(t, quick(everywhere), func(s *shop) {
		shared := request("shared", time.Minute)
		shared.Mode = driver.Shared
		g, held := testkit.MustTry(s.t, s.b, shared), s.acquire()
		never, none := held, held
		never.Key, none.Token = "never", 0
		s.mustBeStale("a key that never was", begin(s.t, s.db, sql.LevelDefault), granted{never})
		if err := s.b.Guard(s.t.Context(), begin(s.t, s.db, sql.LevelDefault), granted{g}); !errors.Is(err, errors.ErrUnsupported) {
			s.t.Errorf("Guard with a lease that is shared: %v", err)
		}
		fails(s.t, "Guard without a token", s.b.Guard(s.t.Context(), nil, granted{none}), "no token")
	})
}

// A key that Guard was never called for is given back at once, with the statement that
// does not look for guarded transactions: it would find one here.
func TestReleaseOfUnguarded(t *testing.T) {
	eachShop(t, quick(servers[:1]), func(s *shop) {
		g := s.acquire()
		tx := begin(s.t, s.db, sql.LevelDefault)
		scan(s.t, tx, "SELECT token FROM distlock WHERE lock_key = 'key' FOR KEY SHARE")
		testkit.MustRelease(s.t, s.b, g)
		g = s.acquire()
		commit(s.t, guard(s.t, s.b, s.db, g))
		if err := s.b.Release(s.t.Context(), g); !unknown(err) {
			s.t.Errorf("Release when Guard was called for the key, and its row is locked: %v", err)
		}
		commit(s.t, tx)
		testkit.MustRelease(s.t, s.b, g)
	})
}

// The key is released, or also taken by another owner, when Guard has locked its row
// for the first time and not yet noted that. Guard finds that the lease is stale.
func TestGuardDuringRelease(t *testing.T) {
	eachShop(t, quick(servers[:1]), func(s *shop) {
		for _, key := range []string{"free", "taken"} {
			g := testkit.MustTry(s.t, s.b, request(key, time.Minute))
			tx := begin(s.t, s.db, sql.LevelDefault)
			err := s.b.Guard(s.t.Context(), during{tx, func() {
				testkit.MustRelease(s.t, s.b, g)
				if key == "taken" {
					testkit.MustTry(s.t, s.b, request(key, time.Minute))
				}
			}}, granted{g})
			if !errors.Is(err, sqllock.ErrStale) {
				s.t.Errorf("Guard of a key that is %s: %v", key, err)
			}
			if err := tx.Rollback(); err != nil {
				s.t.Fatal(err)
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

// A release waits for the row while Guard notes its first call. Then it sees that, and
// does not give the key back.
func TestReleaseDuringGuard(t *testing.T) {
	eachShop(t, []database{postgres}, func(s *shop) {
		g := s.acquire()
		tx, first := begin(s.t, s.db, sql.LevelDefault), begin(s.t, s.db, sql.LevelDefault)
		scan(s.t, tx, "SELECT token FROM distlock WHERE lock_key = 'key' FOR KEY SHARE")
		exec(s.t, first, "UPDATE distlock SET guarded = 1 WHERE lock_key = 'key'")
		done := make(chan error, 1)
		go func() { done <- s.b.Release(s.t.Context(), g) }()
		testkit.Eventually(s.t, "the release waits", func() bool { return len(s.sessions(s.t, true)) == 1 })
		commit(s.t, first)
		if err := <-done; !unknown(err) {
			s.t.Errorf("Release before the transaction has ended: %v", err)
		}
		commit(s.t, tx)
		testkit.MustRelease(s.t, s.b, g)
	})
}

// Guarded transactions hold all connections of the application but the reserved one
// when they call Guard for the first time. It needs a connection of its own.
func TestGuardWithoutConnections(t *testing.T) {
	eachShop(t, quick(servers), func(s *shop) {
		db, b := s.limited(s.t, 2)
		g := testkit.MustTry(s.t, b, request("key", time.Minute))
		commit(s.t, guard(s.t, b, db, g))
		testkit.MustRelease(s.t, b, g)
	})
}

// inLine returns the lease of a caller, and the next caller of the same process, which
// waits.
func (s *shop) inLine() (*distlock.Lease, *testkit.Waiting[*distlock.Lease]) {
	s.t.Helper()
	l := distlock.New(s.hurried, distlock.Config{HandOverTime: time.Hour})
	s.t.Cleanup(func() { _ = l.Close() })
	o := distlock.Opts{KeyTimeout: time.Minute, RetryInterval: 20 * time.Millisecond}
	lease := testkit.MustAcquire(s.t, l, "key", o)
	next := testkit.StartAcquire(s.t, l, "key", o)
	waiting := bridge.Waiting.(func(*distlock.Locker, string) int) //nolint:forcetypeassert // it is that
	testkit.Eventually(s.t, "the next caller waits", func() bool { return waiting(l, "key") == 1 })
	return lease, next
}

// The holder gives the lock back while its guarded transaction is open, and another
// caller of the process waits. It gets the key when the transaction has ended, as one
// elsewhere does.
func TestGuardBeforeHandOver(t *testing.T) {
	eachShop(t, quick(everywhere), func(s *shop) {
		lease, next := s.inLine()
		tx := begin(s.t, s.db, sql.LevelDefault)
		if err := s.b.Guard(s.t.Context(), tx, lease); err != nil {
			s.t.Fatal(err)
		}
		if err := lease.Release(s.t.Context()); !errors.Is(err, distlock.ErrUnavailable) {
			s.t.Errorf("Release before the transaction has ended: %v", err)
		}
		next.MustWait(s.t)
		if _, err := s.hurried.TryAcquire(s.t.Context(), request("key", time.Minute)); err == nil {
			s.t.Error("another owner got the key")
		}
		commit(s.t, tx)
		if err := next.Served(s.t).Release(s.t.Context()); err != nil {
			s.t.Error(err)
		}
	})
}

// The lease is over by its own Check, because it was handed over: Guard refuses it,
// although its token is of the grant that the next holder has.
func TestGuardAfterHandOver(t *testing.T) {
	eachShop(t, everywhere, func(s *shop) {
		lease, next := s.inLine()
		if err := lease.Release(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
		holder := next.Served(s.t)
		s.mustBeStale("a lease that was handed over", begin(s.t, s.db, sql.LevelDefault), lease)
		if err := s.b.Guard(s.t.Context(), begin(s.t, s.db, sql.LevelDefault), holder); err != nil {
			s.t.Errorf("Guard of the holder: %v", err)
		}
	})
}

// A rollback to a savepoint would undo Guard below it, at least in PostgreSQL, which
// knows that and refuses. In the others the second call notices if the key was taken
// meanwhile. A savepoint that is released is no hindrance, and neither is another
// transaction.
func TestGuardBelowSavepoint(t *testing.T) {
	eachShop(t, everywhere, func(s *shop) {
		g := s.acquire()
		tx := begin(s.t, s.db, sql.LevelDefault)
		exec(s.t, tx, "SAVEPOINT a")
		exec(s.t, tx, "UPDATE stock SET count = count - 1")
		exec(s.t, tx, "RELEASE SAVEPOINT a")
		if err := s.b.Guard(s.t.Context(), tx, granted{g}); err != nil {
			s.t.Error(err)
		}
		if s.dialect != sqllock.SQLite {
			commit(s.t, guard(s.t, s.b, s.db, g)) // both have locked the row
		}
		commit(s.t, tx)

		tx = begin(s.t, s.db, sql.LevelDefault)
		exec(s.t, tx, "SAVEPOINT a")
		err := s.b.Guard(s.t.Context(), tx, granted{g})
		if s.dialect == sqllock.Postgres {
			fails(s.t, "Guard below a savepoint", err, "savepoint")
			return
		}
		if err != nil {
			s.t.Error(err)
		}
		exec(s.t, tx, "ROLLBACK TO SAVEPOINT a")
		released := s.hurried.Release(s.t.Context(), g) == nil
		if err := s.b.Guard(s.t.Context(), tx, granted{g}); errors.Is(err, sqllock.ErrStale) != released {
			s.t.Errorf("Guard again, when the key was given back (%v): %v", released, err)
		}
	})
}
