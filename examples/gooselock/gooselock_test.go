package gooselock_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/examples/gooselock"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

const lease = 2 * time.Second

func TestMain(m *testing.M) {
	testkit.BeChild(map[string]func(*testkit.Child) error{"migrate": beMigration})
	os.Exit(m.Run())
}

// process is what a process has that migrates.
type process struct {
	*goose.Provider

	db     *sql.DB
	l      *distlock.Locker
	locker *gooselock.Locker
}

// open opens a database for two migrations: one makes a table, and one fills it. do is called
// in the transaction of the second one.
func open(b driver.Backend, file string, do func(context.Context) error) (*process, error) {
	p := &process{l: distlock.New(b, distlock.Config{})}
	p.locker = gooselock.New(p.l, "orders", distlock.Opts{Prefix: "migrate:", KeyTimeout: lease})
	var err error
	if p.db, err = sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)&_txlock=immediate"); err != nil {
		return nil, err
	}
	migrations := []*goose.Migration{
		goose.NewGoMigration(1, exec("create table orders (id integer primary key)", nil), nil),
		goose.NewGoMigration(2, exec("insert into orders default values", do), nil),
	}
	p.Provider, err = goose.NewProvider(goose.DialectSQLite3, p.db, nil,
		goose.WithGoMigrations(migrations...), goose.WithDisableGlobalRegistry(true), goose.WithLocker(p.locker))
	return p, err
}

func exec(statement string, do func(context.Context) error) *goose.GoFunc {
	return &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, statement); err != nil || do == nil {
			return err
		}
		return do(ctx)
	}}
}

func mustOpen(t *testing.T, b driver.Backend, file string, do func(context.Context) error) *process {
	t.Helper()
	p, err := open(b, file, do)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.db.Close(), p.l.Close()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// up migrates, and returns the versions that it ran.
func (p *process) up(ctx context.Context) (versions []int64, err error) {
	results, err := p.Up(ctx)
	for _, r := range results {
		versions = append(versions, r.Source.Version)
	}
	return versions, err
}

// rows returns the number of rows in the table.
func (p *process) rows(t *testing.T) (n int) {
	t.Helper()
	if err := p.db.QueryRowContext(t.Context(), "select count(*) from orders").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// waiting reports whether somebody waits for the lock.
func (p *process) waiting() bool {
	found, err := admin.Inspect(context.Background(), p.l, "migrate:", 1)
	return err == nil && len(found) == 1 && found[0].Waiting == 1
}

// TestOnce migrates in two processes. The second one begins while the first one is in its
// second migration, and finds nothing to do.
func TestOnce(t *testing.T) {
	t.Parallel()
	store, file := memlock.New(), filepath.Join(t.TempDir(), "db")
	var runs atomic.Int32
	begun, goOn := make(chan bool, 2), make(chan bool)
	do := func(context.Context) error { runs.Add(1); begun <- true; <-goOn; return nil }
	first, second := mustOpen(t, store, file, do), mustOpen(t, store, file, do)
	type result struct {
		versions []int64
		err      error
	}
	done := make(chan result, 2)
	up := func(p *process) {
		versions, err := p.up(t.Context())
		done <- result{versions, err}
	}
	go up(first)
	<-begun
	go up(second)
	child.Await(t, "the second one waits", second.waiting)
	close(goOn)
	for _, want := range [][]int64{{1, 2}, nil} {
		if r := <-done; r.err != nil || !slices.Equal(r.versions, want) {
			t.Errorf("ran %v, want %v: %v", r.versions, want, r.err)
		}
	}
	if n := runs.Load(); n != 1 || first.rows(t) != 1 {
		t.Errorf("the migration ran %d times, and there are %d rows", n, first.rows(t))
	}
}

// TestLoss: below Do the context of a migration ends, and it is rolled back. Otherwise it ends
// as it would have, and the error says what happened.
func TestLoss(t *testing.T) {
	t.Parallel()
	store, file := memlock.New(), filepath.Join(t.TempDir(), "db")
	var p *process
	lose := func(ctx context.Context) error {
		if _, err := admin.ForceRelease(ctx, p.l, "migrate:orders"); err != nil {
			return err
		}
		held, ok := distlock.FromContext(ctx)
		if !ok {
			return nil
		}
		_ = held.Refresh(ctx) // it notices
		<-ctx.Done()
		return ctx.Err()
	}
	p = mustOpen(t, store, file, lose)
	err := p.locker.Do(t.Context(), func(ctx context.Context) error { _, err := p.up(ctx); return err })
	if !errors.Is(err, distlock.ErrLost) || p.rows(t) != 0 {
		t.Errorf("with Do: %d rows, %v", p.rows(t), err)
	}
	versions, err := p.up(t.Context())
	if !errors.Is(err, distlock.ErrLost) || !slices.Equal(versions, []int64{2}) || p.rows(t) != 1 {
		t.Errorf("without Do: ran %v, %d rows, %v", versions, p.rows(t), err)
	}
}

// TestKey: a key that no lock can have is refused when the program starts.
func TestKey(t *testing.T) {
	t.Parallel()
	l := distlock.New(memlock.New(), distlock.Config{})
	defer l.Close()
	testkit.WantPanic(t, "distlock: options: Value is empty", func() { gooselock.New(l, "", distlock.Opts{}) })
}

// TestKilled kills a process in its second migration. The next one goes on there when the
// lease is over: the first migration does not run again, and of the second one nothing is left.
func TestKilled(t *testing.T) {
	t.Parallel()
	server, file := redistest.Start(t), filepath.Join(t.TempDir(), "db")
	killed := testkit.StartChild(t, "migrate", order{server.Addr(), file})
	killed.Hear("begun")
	p := mustOpen(t, redislock.New(server.Client(t), redislock.Config{}), file, nil)
	type result struct {
		versions []int64
		err      error
	}
	done := make(chan result, 1)
	go func() {
		versions, err := p.up(t.Context())
		done <- result{versions, err}
	}()
	child.Await(t, "the second process waits", p.waiting)
	killed.Kill()
	before := time.Now()
	r := <-done
	waited := time.Since(before)
	t.Logf("killed: the next process had migrated after %v, with a lease of %v", waited, lease)
	if r.err != nil || !slices.Equal(r.versions, []int64{2}) || p.rows(t) != 1 {
		t.Errorf("ran %v, %d rows, %v", r.versions, p.rows(t), r.err)
	}
	if waited > lease+testkit.Patience {
		t.Error("that is too long")
	}
}

// order is what a child process gets.
type order struct{ Redis, File string }

// beMigration is a process that does not come to the end of its second migration.
func beMigration(c *testkit.Child) error {
	var o order
	if err := c.Decode(&o); err != nil {
		return err
	}
	p, err := open(redislock.New(redis.NewClient(&redis.Options{Addr: o.Redis}), redislock.Config{}), o.File, func(ctx context.Context) error {
		c.Say("begun")
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	_, err = p.up(context.Background())
	return err
}
