// Package postgresql has code of docs/migrating.md.
package postgresql

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/internal/test/sqltest"
)

type job func(ctx context.Context) error

func before(ctx context.Context, db *sql.DB, report job) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(hashtextextended($1, 0))", "report"); err != nil {
		return err
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock(hashtextextended($1, 0))", "report")
	return report(ctx)
}

func between(ctx context.Context, db *sql.DB, locker *distlock.Locker, report job) error {
	return locker.Do(ctx, "report", distlock.Opts{}, func(ctx context.Context) error {
		return before(ctx, db, report)
	})
}

func after(ctx context.Context, locker *distlock.Locker, report job) error {
	return locker.Do(ctx, "report", distlock.Opts{}, report)
}

func newLocker(ctx context.Context, db *sql.DB) (*distlock.Locker, error) {
	if err := sqllock.CreateTable(ctx, db, sqllock.Postgres); err != nil {
		return nil, err
	}
	backend, err := sqllock.New(db, sqllock.Postgres)
	if err != nil {
		return nil, err
	}
	return distlock.New(backend, distlock.Config{}), nil
}

func TestMain(m *testing.M) {
	code := m.Run()
	sqltest.StopShared()
	os.Exit(code)
}

// start returns a new database, and the page's Locker on it.
func start(t *testing.T) (*sql.DB, *distlock.Locker) {
	t.Helper()
	db, err := sql.Open("pgx", sqltest.Postgres.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	locker, err := newLocker(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locker.Close() })
	return db, locker
}

// TestBothAtOnce runs processes of two releases at the same time: before and between, then
// between and after.
func TestBothAtOnce(t *testing.T) {
	t.Parallel()
	db, locker := start(t)
	ctx := t.Context()
	old := func(report job) error { return before(ctx, db, report) }
	both := func(report job) error { return between(ctx, db, locker, report) }
	ours := func(report job) error { return after(ctx, locker, report) }
	for _, releases := range [][]func(job) error{{old, both}, {both, ours}} {
		var users atomic.Int32
		report := func(context.Context) error {
			if users.Add(1) != 1 {
				t.Error("two holders at the same time")
			}
			time.Sleep(time.Millisecond)
			users.Add(-1)
			return nil
		}
		errs := make(chan error)
		for i := range 4 {
			go func() {
				var err error
				for range 5 {
					err = errors.Join(err, releases[i%2](report))
				}
				errs <- err
			}()
		}
		for range 4 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	}
}

// TestBlind: the advisory lock and the lease of one name do not see each other.
func TestBlind(t *testing.T) {
	t.Parallel()
	db, locker := start(t)
	err := before(t.Context(), db, func(ctx context.Context) error {
		lease, err := locker.TryAcquire(ctx, "report", distlock.Opts{})
		if err != nil {
			return err
		}
		return lease.Release(ctx)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestConnectionLost: when the connection of an advisory lock breaks, another gets the
// lock at once, and the holder is not told. A lease does not depend on a connection.
func TestConnectionLost(t *testing.T) {
	t.Parallel()
	db, locker := start(t)
	breakAll := func(ctx context.Context) error {
		_, err := db.ExecContext(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		return err
	}

	err := before(t.Context(), db, func(ctx context.Context) error {
		if err := breakAll(ctx); err != nil {
			return err
		}
		if err := before(ctx, db, func(context.Context) error { return nil }); err != nil {
			t.Errorf("another could not get the advisory lock: %v", err)
		}
		return ctx.Err()
	})
	if err != nil {
		t.Errorf("the holder of the advisory lock: %v", err)
	}

	err = after(t.Context(), locker, func(ctx context.Context) error {
		if err := breakAll(ctx); err != nil {
			return err
		}
		lease, _ := distlock.FromContext(ctx)
		if err := lease.Refresh(ctx); err != nil {
			return err
		}
		if _, err := locker.TryAcquire(distlock.Detach(ctx), "report", distlock.Opts{}); !errors.Is(err, distlock.ErrNotAcquired) {
			t.Errorf("another gets the key: %v", err)
		}
		return ctx.Err()
	})
	if err != nil {
		t.Errorf("the holder of the lease: %v", err)
	}
}
