package sqllock_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/fence"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// ticket returns the lease of a caller in another process.
func ticket(key string, token uint64) granted { return granted{driver.Grant{Key: key, Token: token}} }

// warehouse is data in a database that knows nothing of the locks.
type warehouse struct {
	*store
	tb      testing.TB
	db      *sql.DB
	fence   fence.Dialect
	refuses bool // a snapshot that is too old
}

func (of *store) warehouse(tb testing.TB) *warehouse {
	tb.Helper()
	dialects := map[sqllock.Dialect]fence.Dialect{sqllock.Postgres: fence.Postgres, sqllock.MySQL: fence.MySQL, sqllock.SQLite: fence.SQLite}
	w := &warehouse{store: of, tb: tb, db: of.pool(tb), fence: dialects[of.dialect]}
	for range 2 { // the second time it does nothing
		exec(tb, w.db, w.fence.Schema())
	}
	exec(tb, w.db, "CREATE TABLE items (sku int NOT NULL PRIMARY KEY, writer bigint NOT NULL)")
	exec(tb, w.db, "INSERT INTO items VALUES (1, 0)")
	return w
}

// eachLevel runs a test on each kind of database, in each of its isolation levels that differ.
func eachLevel(t *testing.T, test func(w *warehouse, level sql.IsolationLevel)) {
	t.Helper()
	each(t, func(t *testing.T, of *store) {
		levels := []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}
		if of.server == nil {
			levels = []sql.IsolationLevel{sql.LevelDefault}
		}
		w := of.warehouse(t)
		for _, level := range levels {
			t.Run(level.String(), func(t *testing.T) {
				exec(t, w.db, "DELETE FROM distlock_fence")
				w.tb, w.refuses = t, of.dialect == sqllock.Postgres && level > sql.LevelReadCommitted
				test(w, level)
			})
		}
	})
}

// write is what a holder does in its transaction.
func (w *warehouse) write(tx *sql.Tx, t fence.Ticket) error {
	if err := w.fence.Check(w.tb.Context(), tx, t); err != nil {
		return err
	}
	_, err := tx.ExecContext(w.tb.Context(), fmt.Sprint("UPDATE items SET writer = ", t.Token()))
	return err
}

// try is the whole transaction.
func (w *warehouse) try(level sql.IsolationLevel, t fence.Ticket) error {
	tx, err := w.db.BeginTx(w.tb.Context(), &sql.TxOptions{Isolation: level})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := w.write(tx, t); err != nil {
		return err
	}
	return tx.Commit()
}

func (w *warehouse) mustBeOf(token uint64) {
	w.tb.Helper()
	if got := scan(w.tb, w.db, "SELECT writer FROM items"); got != fmt.Sprint(token) {
		w.tb.Errorf("the last writer has token %s, want %d", got, token)
	}
}

// A holder is stopped before its transaction, and its lock passes to another, which writes. Its
// own clocks still say that the lease is valid, but the data refuse it.
func TestFenceStopsLateHolder(t *testing.T) {
	eachLevel(t, func(w *warehouse, level sql.IsolationLevel) {
		locks := memlock.New()
		a, b := distlock.New(locks, distlock.Config{}), distlock.New(locks, distlock.Config{})
		defer a.Close()
		defer b.Close()
		o := distlock.Opts{KeyTimeout: time.Hour, Fencing: true}
		late := testkit.MustAcquire(w.tb, a, "tea", o)
		if _, err := admin.ForceRelease(w.tb.Context(), b, "tea"); err != nil {
			w.tb.Fatal(err)
		}
		next := testkit.MustAcquire(w.tb, b, "tea", o)
		for range 2 { // one lease is good for several transactions
			if err := w.try(level, next); err != nil {
				w.tb.Errorf("the holder: %v", err)
			}
		}
		if err := errors.Join(late.Check(), w.try(level, late)); !errors.Is(err, fence.ErrStale) || errors.Is(err, distlock.ErrLost) {
			w.tb.Errorf("the late holder: %v", err)
		}
		w.mustBeOf(next.Token())
		_ = late.Release(w.tb.Context()) // it is lost
		if err := next.Release(w.tb.Context()); err != nil {
			w.tb.Error(err)
		}
		if err := w.try(level, next); !errors.Is(err, distlock.ErrLost) {
			w.tb.Errorf("after the release: %v", err)
		}
	})
}

// A holder is stopped in the middle of its transaction, and the transaction of another begins:
// the earlier holder's first, or the later one's. The second one waits for the end of the first
// one. Then it passes or is refused as if they had come one after the other.
func TestFenceOfTwoTransactions(t *testing.T) {
	eachLevel(t, func(w *warehouse, level sql.IsolationLevel) {
		for i := range uint64(8) {
			commits := i&2 == 0
			first, second := ticket(fmt.Sprint("k", i), 11+i%2), ticket(fmt.Sprint("k", i), 12-i%2)
			exec(w.tb, w.db, "UPDATE items SET writer = 0")
			if i < 4 { // the row exists
				if err := w.try(level, ticket(first.Key(), 5)); err != nil {
					w.tb.Fatal(err)
				}
			}
			stopped := begin(w.tb, w.db, level)
			if err := w.write(stopped, first); err != nil {
				w.tb.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- w.try(level, second) }()
			if w.server != nil {
				testkit.Eventually(w.tb, "the second transaction waits", func() bool { return len(w.sessions(w.tb.(*testing.T), true)) == 1 })
			}
			select {
			case err := <-done:
				w.tb.Errorf("%v after an open transaction of %v: %v", second, first, err)
			default:
			}
			if commits {
				commit(w.tb, stopped)
			} else if err := stopped.Rollback(); err != nil {
				w.tb.Fatal(err)
			}
			err := <-done
			if commits && w.refuses { // an error of the database, and never a pass
				if err == nil || errors.Is(err, fence.ErrStale) {
					w.tb.Errorf("a transaction that would have to see a later one ends with %v", err)
				}
				err = w.try(level, second)
			}
			stale := commits && first.Token() > second.Token()
			if errors.Is(err, fence.ErrStale) != stale || !stale && err != nil {
				w.tb.Errorf("%v after %v, which commits (%v): %v", second, first, commits, err)
			}
			w.mustBeOf(map[bool]uint64{true: first.Token(), false: second.Token()}[stale])
		}
	})
}

// Keys are compared byte by byte, up to the longest, and tokens up to the largest. Without its
// table Check says which one is missing.
func TestFenceTable(t *testing.T) {
	each(t, func(t *testing.T, of *store) {
		w := of.warehouse(t)
		long := strings.Repeat("x", 254)
		for i, key := range []string{"tea", "Tea", "tea.", "té", "te", long + "a", long + "b"} {
			for _, token := range []uint64{uint64(i) + 1, 1<<63 - 1 - uint64(i)} {
				if err := w.try(sql.LevelDefault, ticket(key, token)); err != nil {
					t.Errorf("%q, token %d: %v", key, token, err)
				}
			}
			if err := w.try(sql.LevelDefault, ticket(key, 1<<63-2-uint64(i))); !errors.Is(err, fence.ErrStale) {
				t.Errorf("%q, a smaller token: %v", key, err)
			}
		}
		exec(t, w.db, "DROP TABLE distlock_fence")
		if err := fmt.Sprint(w.try(sql.LevelDefault, ticket("tea", 1))); !strings.Contains(err, "Dialect.Schema has the statement that creates the table") {
			t.Errorf("without the table: %v", err)
		}
	})
}

// BenchmarkFence is a transaction of one update: alone, with Check, and with Guard, for which
// the locks are in the same database.
func BenchmarkFence(b *testing.B) {
	for _, d := range everywhere {
		w := d.newStore(b).warehouse(b)
		w.db.SetMaxOpenConns(1)
		locks := d.on(b, w.pool(b))
		g := testkit.MustTry(b, locks, request("tea", time.Hour))
		checks := map[string]func(tx *sql.Tx) error{
			"plain": func(*sql.Tx) error { return nil },
			"fence": func(tx *sql.Tx) error { return w.fence.Check(b.Context(), tx, granted{g}) },
			"guard": func(tx *sql.Tx) error { return locks.Guard(b.Context(), tx, granted{g}) },
		}
		for _, name := range []string{"plain", "fence", "guard"} {
			b.Run(d.dialect.String()+"/"+name, func(b *testing.B) {
				for b.Loop() {
					tx := begin(b, w.db, sql.LevelDefault)
					if err := checks[name](tx); err != nil {
						b.Fatal(err)
					}
					exec(b, tx, "UPDATE items SET writer = writer + 1")
					commit(b, tx)
				}
			})
		}
	}
}
