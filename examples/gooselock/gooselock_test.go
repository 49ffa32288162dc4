package gooselock_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/gooselock"
	"github.com/distlock-go/distlock/internal/test/adaptertest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// migrate opens a database and migrates it. Of the two migrations, one makes a table,
// and one fills it and runs the job. It returns the versions that it ran, and the
// number of rows.
func migrate(ctx context.Context, locker *gooselock.Locker, file string, do bool, job adaptertest.Job) (versions []int64, rows int, err error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		return nil, 0, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	exec := func(statement string, job adaptertest.Job) *goose.GoFunc {
		return &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
			return job(ctx)
		}}
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, nil, goose.WithDisableGlobalRegistry(true), goose.WithLocker(locker),
		goose.WithGoMigrations(
			goose.NewGoMigration(1, exec("create table orders (id integer primary key)", func(context.Context) error { return nil }), nil),
			goose.NewGoMigration(2, exec("insert into orders default values", job), nil)))
	if err != nil {
		return nil, 0, err
	}
	up := func(ctx context.Context) error {
		results, err := p.Up(ctx)
		for _, r := range results {
			versions = append(versions, r.Source.Version)
		}
		return err
	}
	if do {
		err = locker.Do(ctx, up)
	} else {
		err = up(ctx)
	}
	_ = db.QueryRowContext(context.WithoutCancel(ctx), "select count(*) from orders").Scan(&rows) // or there is no table
	return versions, rows, err
}

func adapter(name string, do bool) adaptertest.Adapter {
	return adaptertest.Adapter{Name: name, Key: "app:orders", Untold: !do, Open: func(l *distlock.Locker, o distlock.Opts) adaptertest.Run {
		locker := gooselock.New(l, "orders", o)
		return func(ctx context.Context, job adaptertest.Job) error {
			_, rows, err := migrate(ctx, locker, ":memory:", do, job)
			if lost := errors.Is(err, distlock.ErrLost); lost && do == (rows > 0) {
				return errors.New("a migration whose lock was lost is rolled back below Do, and otherwise is not")
			}
			return err
		}
	}}
}

var adapters = []adaptertest.Adapter{adapter("Up", false), adapter("Do", true)}

func TestMain(m *testing.M) { adaptertest.Main(m, adapters...) }

func TestAdapter(t *testing.T) { adaptertest.Test(t, adapters...) }

// TestOnce migrates in two processes. The second one begins while the first one is in
// its second migration, and finds nothing to do.
func TestOnce(t *testing.T) {
	t.Parallel()
	store, file := memlock.New(), filepath.Join(t.TempDir(), "db")
	l := testkit.NewLocker(t, store, distlock.Config{})
	up := func(l *distlock.Locker, job adaptertest.Job) ([]int64, int, error) {
		return migrate(t.Context(), gooselock.New(l, "orders", distlock.Opts{Prefix: "migrate:"}), file, false, job)
	}
	second := make(chan error, 1)
	versions, rows, err := up(l, func(context.Context) error {
		go func() {
			versions, rows, err := up(testkit.NewLocker(t, store, distlock.Config{}), func(context.Context) error { return errors.New("it runs twice") })
			if len(versions) > 0 || rows != 1 {
				t.Errorf("the second one ran %v, and there are %d rows", versions, rows)
			}
			second <- err
		}()
		testkit.Eventually(t, "the second one waits", adaptertest.Waited(l, "migrate:orders"))
		return nil
	})
	if err := errors.Join(err, <-second); err != nil || !slices.Equal(versions, []int64{1, 2}) || rows != 1 {
		t.Errorf("ran %v, %d rows: %v", versions, rows, err)
	}
}

// TestKey: a key that no lock can have is refused when the program starts.
func TestKey(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	testkit.WantPanic(t, "distlock: options: Value is empty", func() { gooselock.New(l, "", distlock.Opts{}) })
	if err := gooselock.New(l, "shop", distlock.Opts{}).Unlock(t.Context(), nil); err == nil {
		t.Error("what is not locked was unlocked")
	}
}
