// Package postgresql has code of docs/migrating.md.
package postgresql

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/examples/internal/mixed"
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
	if err := sqllock.CreateTable(ctx, db, sqllock.Postgres, sqllock.DefaultTable); err != nil {
		return nil, err
	}
	backend, err := sqllock.New(db, sqllock.Postgres, sqllock.Config{})
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
	old := func(ctx context.Context, job mixed.Job) error { return before(ctx, db, job) }
	both := func(ctx context.Context, job mixed.Job) error { return between(ctx, db, locker, job) }
	ours := func(ctx context.Context, job mixed.Job) error { return after(ctx, locker, job) }
	if err := errors.Join(mixed.Run(t.Context(), old, both), mixed.Run(t.Context(), both, ours)); err != nil {
		t.Error(err)
	}
}
