package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
)

type job func(ctx context.Context) error

// withAdvisoryLock takes a lock as docs/migration.md shows it, and so do withBoth and
// withLease, which are the next release and the one after it.
func withAdvisoryLock(ctx context.Context, db *sql.DB, report job) error {
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

func withBoth(ctx context.Context, db *sql.DB, locker *distlock.Locker, report job) error {
	return locker.Do(ctx, "report", distlock.Opts{}, func(ctx context.Context) error {
		return withAdvisoryLock(ctx, db, report)
	})
}

func withLease(ctx context.Context, locker *distlock.Locker, report job) error {
	return locker.Do(ctx, "report", distlock.Opts{}, report)
}

// lockerAfterMigration returns a Locker on the application's own connections.
func lockerAfterMigration(db *sql.DB) (*distlock.Locker, error) {
	backend, err := sqllock.New(db, sqllock.Postgres)
	if err != nil {
		return nil, err
	}
	locker := distlock.New(backend, distlock.Config{})
	return locker, nil
}

// TestMigration runs processes of two releases at the same time.
func TestMigration(t *testing.T) {
	t.Parallel()
	db := postgres.pool(t, postgres.newTables(t))
	locker, err := lockerAfterMigration(db)
	if err != nil {
		t.Fatal(err)
	}
	defer locker.Close()

	ctx := t.Context()
	before := func(report job) error { return withAdvisoryLock(ctx, db, report) }
	between := func(report job) error { return withBoth(ctx, db, locker, report) }
	after := func(report job) error { return withLease(ctx, locker, report) }
	for _, releases := range [][]func(job) error{{before, between}, {between, after}} {
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
