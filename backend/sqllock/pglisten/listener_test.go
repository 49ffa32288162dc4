package pglisten

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/sqltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(child.Main{Tests: m}) }

// patience is more than anything takes on a slow machine.
const patience = time.Minute

// run is a call of Listen.
type run struct {
	listening chan struct{}
	heard     chan string
	end       context.CancelFunc
	ended     chan error
}

func start(t *testing.T, l *Listener) *run {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	r := &run{listening: make(chan struct{}, 1), heard: make(chan string, 100), end: end, ended: make(chan error, 1)}
	go func() {
		r.ended <- l.Listen(ctx, "distlock", func() { r.listening <- struct{}{} }, func(payload string) { r.heard <- payload })
	}()
	t.Cleanup(end)
	return r
}

// next returns what c receives, or fails the test.
func next[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s: nothing happens", what)
		panic("unreachable")
	}
}

// database returns a listener of a fresh database on a server, and a function that runs
// SQL there.
func database(t *testing.T, s *sqltest.Server) (l *Listener, exec func(sql string) string) {
	t.Helper()
	name := s.NewDatabase(t)
	config, err := pgx.ParseConfig(s.DSN(name))
	if err != nil {
		t.Fatal(err)
	}
	return New(config), func(sql string) string {
		t.Helper()
		return s.Exec(t, name, sql)
	}
}

// Messages of a real server arrive once the connection listens, also after checks.
func TestListen(t *testing.T) {
	t.Parallel()
	l, exec := database(t, sqltest.Postgres.Shared(t))
	l.interval = 20 * time.Millisecond
	r := start(t, l)
	next(t, "LISTEN", r.listening)
	exec("NOTIFY distlock, 'a'; NOTIFY other, 'b'; NOTIFY distlock, 'c'")
	for _, want := range []string{"a", "c", "d"} {
		if want == "d" {
			time.Sleep(10 * l.interval)
			exec("NOTIFY distlock, 'd'")
		}
		if got := next(t, want, r.heard); got != want {
			t.Errorf("heard %q, want %q", got, want)
		}
	}
	r.end()
	if err := next(t, "the end", r.ended); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
