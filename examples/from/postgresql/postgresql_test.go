// Package postgresql has code of docs/migrating.md.
package postgresql

import (
	"context"
	"database/sql"
	"os"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/examples/internal/mixed"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func before(ctx context.Context, db *sql.DB, report mixed.Job) error {
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

func between(ctx context.Context, db *sql.DB, locker *distlock.Locker, report mixed.Job) error {
	return locker.Do(ctx, "report", distlock.Opts{}, func(ctx context.Context) error {
		return before(ctx, db, report)
	})
}

func after(ctx context.Context, locker *distlock.Locker, report mixed.Job) error {
	return locker.Do(ctx, "report", distlock.Opts{}, report)
}

func TestMain(m *testing.M) { os.Exit(child.Main{Tests: m}.Run()) }

// TestBothAtOnce runs processes of two releases at the same time: before and between,
// then between and after.
func TestBothAtOnce(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("pgx", sqltest.Postgres.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	testkit.WantIs(t, sqllock.CreateTable(t.Context(), db, sqllock.Postgres, ""))
	backend, err := sqllock.New(db, sqllock.Postgres, sqllock.Config{})
	if err != nil {
		t.Fatal(err)
	}
	locker := testkit.NewLocker(t, backend, distlock.Config{})
	both := func(ctx context.Context, job mixed.Job) error { return between(ctx, db, locker, job) }
	mixed.Run(t, func(ctx context.Context, job mixed.Job) error { return before(ctx, db, job) }, both)
	mixed.Run(t, both, func(ctx context.Context, job mixed.Job) error { return after(ctx, locker, job) })
}
