package sqltest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// Server is a database server process with its children.
type Server struct {
	child.Server

	engine    *Engine
	dir       string
	args      []string
	clock     *child.Clock // nil: the system's
	databases atomic.Int64
}

// Start starts an empty server, and kills it when the test ends. It does not survive a
// power failure. args are appended to the default arguments. The test is skipped if the
// server is not installed; see [child.Need].
func (e *Engine) Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return e.start(tb, false, args)
}

// StartWithClock is like [Engine.Start], for a server with a clock to set. It needs a C
// compiler.
func (e *Engine) StartWithClock(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return e.start(tb, true, args)
}

// Launch is [Engine.Start] for a server that outlives a test. The caller has to kill
// the server and to remove dir, which the server's user can enter.
func (e *Engine) Launch(dir string, args ...string) (*Server, error) {
	s := e.newServer(dir, args)
	err := s.launch()
	return s, err
}

func (e *Engine) start(tb testing.TB, withClock bool, args []string) *Server {
	tb.Helper()
	testmode.InRealTime(tb)
	s := e.newServer(newDir(tb), args)
	tb.Cleanup(s.Kill)
	var err error
	if withClock {
		s.clock, err = child.NewClock(s.dir)
	}
	if err == nil {
		err = s.launch()
	}
	child.Need(tb, err)
	return s
}

// newDir returns a new directory that is removed when the test ends, for the server's
// user.
func newDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "sqltest") //nolint:usetesting // the server's user could not enter it
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (e *Engine) newServer(dir string, args []string) *Server {
	s := &Server{engine: e, dir: dir, args: args}
	s.Server = child.Server{Name: e.name, Ports: make([]int, 1), Command: s.command, Ready: s.ready}
	return s
}

// launch starts the server with an empty data directory.
func (s *Server) launch() error {
	cmd, err := s.engine.command(s.dir, s.engine.install, s.engine.installArgs(s.data())...)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("sqltest: %s: %w\n%s", s.engine.install, err, out)
	}
	return child.Launch(s)
}

func (s *Server) command() (*exec.Cmd, error) {
	cmd, err := s.engine.command(s.dir, s.engine.server, slices.Concat(s.engine.serverArgs(s), s.args)...)
	if err == nil && s.clock != nil {
		cmd.Env = append(cmd.Env, s.clock.Env()...)
	}
	return cmd, err
}

func (s *Server) ready() bool { return strings.Contains(s.Output(), s.engine.ready) }

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// URL returns the URL of a database: postgres://… or mysql://….
func (s *Server) URL(database string) string { return s.engine.url(s, database) }

// DSN returns what database/sql opens a database with: the URL for the driver pgx,
// another text for the driver mysql.
func (s *Server) DSN(database string) string { return s.engine.dsn(s, database) }

// NewDatabase makes an empty database and returns its name.
func (s *Server) NewDatabase(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprintf("test%d", s.databases.Add(1))
	s.Exec(tb, s.engine.first, "CREATE DATABASE "+name)
	return name
}

// Exec runs SQL in a database with the server's command-line client, and returns the
// rows that the client prints, one for each line.
func (s *Server) Exec(tb testing.TB, database, sql string) string {
	tb.Helper()
	client, err := s.engine.bin(s.engine.client)
	if err != nil {
		tb.Fatal(err)
	}
	out, err := exec.Command(client, append(s.engine.clientArgs(s, database), sql)...).CombinedOutput()
	if err != nil {
		tb.Fatalf("%s: %v: %s", sql, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Shutdown ends the server in an orderly way: it closes all connections and aborts
// their transactions.
func (s *Server) Shutdown(tb testing.TB) {
	tb.Helper()
	s.Server.Shutdown(tb, s.engine.asks)
}

// SetClock sets the clock of a server to the true time plus d.
func (s *Server) SetClock(tb testing.TB, d time.Duration) {
	tb.Helper()
	if err := s.clock.Set(d); err != nil {
		tb.Fatal(err)
	}
	now, err := strconv.ParseFloat(s.Exec(tb, s.engine.first, s.engine.now), 64)
	if err != nil {
		tb.Fatal(err)
	}
	if got := time.Until(time.UnixMicro(int64(now * 1e6))); (got - d).Abs() > 10*time.Minute {
		tb.Fatalf("the server's clock is %v ahead, not %v", got, d)
	}
}

// Replica starts an asynchronous standby of a PostgreSQL server, and kills it when the
// test ends. [Server.Promote] makes it a server of its own.
func (s *Server) Replica(tb testing.TB, args ...string) *Server {
	tb.Helper()
	r := s.engine.newServer(newDir(tb), args)
	tb.Cleanup(r.Kill)
	cmd, err := s.engine.command(r.dir, "pg_basebackup", "-D", r.data(), "-h", "127.0.0.1", "-p", strconv.Itoa(s.Ports[0]), "-U", "postgres",
		"--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	if err != nil {
		tb.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("pg_basebackup: %v: %s", err, out)
	}
	if err := child.Launch(r); err != nil {
		tb.Fatal(err)
	}
	return r
}

// Promote makes a standby accept writes.
func (s *Server) Promote(tb testing.TB) {
	tb.Helper()
	if got := s.Exec(tb, s.engine.first, fmt.Sprintf("SELECT pg_promote(wait_seconds => %d)", int(child.Patience.Seconds()))); got != "t" {
		tb.Fatalf("pg_promote: %q", got)
	}
}
