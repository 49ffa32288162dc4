package sqltest

import (
	"errors"
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

	"github.com/distlock-go/distlock/internal/child"
	"github.com/distlock-go/distlock/internal/testmode"
)

// patience limits the wait for a server on a slow and busy machine.
const patience = time.Minute

// Server is a database server process with its children.
type Server struct {
	engine    *Engine
	dir       string
	port      int
	args      []string
	clock     *child.Clock // nil: the system's
	databases atomic.Int64

	cmd    *exec.Cmd
	exited <-chan struct{}
	log    log
}

// Start starts an empty server, and kills it when the test ends. It does not survive a
// power failure. args are appended to the default arguments. The test is skipped if the
// server is not installed; see [child.RealEnv].
func (e *Engine) Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return e.start(tb, false, args)
}

// StartWithClock is like [Engine.Start], for a server whose clock can be set. It needs a C
// compiler.
func (e *Engine) StartWithClock(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return e.start(tb, true, args)
}

func (e *Engine) start(tb testing.TB, withClock bool, args []string) *Server {
	tb.Helper()
	s, err := e.launch(withClock, args)
	need(tb, err)
	tb.Cleanup(s.remove)
	return s
}

// need handles the error of a launch. It skips the test if a program is missing, unless
// [child.RealEnv] forbids that, and fails the test for any other error.
func need(tb testing.TB, err error) {
	tb.Helper()
	switch {
	case err == nil:
		testmode.InRealTime(tb)
	case errors.Is(err, ErrMissing) && !child.Required():
		tb.Skipf(testmode.LeftOut+"%v", err)
	default:
		tb.Fatal(err)
	}
}

// launch starts a server that may outlive a test.
func (e *Engine) launch(withClock bool, args []string) (*Server, error) {
	dir, err := os.MkdirTemp("", "sqltest")
	if err != nil {
		return nil, err
	}
	s := &Server{engine: e, dir: dir, args: args}
	err = e.newData(dir)
	if err == nil && withClock {
		if s.clock, err = child.NewClock(dir); err != nil {
			err = fmt.Errorf("%w: %w", ErrMissing, err)
		}
	}
	if err == nil {
		err = s.listen()
	}
	if err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

// listen starts the server on a free port.
func (s *Server) listen() error {
	var err error
	// Another process may take the port before the server listens on it.
	for range 5 {
		if s.port, err = child.FreePort(); err != nil {
			return err
		}
		if err = s.boot(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("sqltest: %s does not start: %w", s.engine.name, err)
}

// boot starts the process and waits until the server serves.
func (s *Server) boot() error {
	cmd, err := s.engine.command(s.dir, s.engine.server, slices.Concat(s.engine.serverArgs(s), s.args)...)
	if err != nil {
		return err
	}
	if s.clock != nil {
		cmd.Env = append(cmd.Env, s.clock.Env()...)
	}
	s.log.mark()
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
	if s.exited, err = child.Start(cmd); err != nil {
		return err
	}
	s.cmd = cmd
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for start := time.Now(); time.Since(start) < patience; {
		select {
		case <-s.exited:
			return errors.New(s.log.sinceMark())
		case <-tick.C:
			if strings.Contains(s.log.sinceMark(), s.engine.ready) {
				return nil
			}
		}
	}
	s.Kill()
	return fmt.Errorf("it does not serve: %s", s.log.sinceMark())
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Addr returns host and port.
func (s *Server) Addr() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

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

// Log returns what the server has logged since its first start.
func (s *Server) Log() string { return s.log.all() }

// Stop sends SIGSTOP to all processes of the server: connections stay open, and the
// server does not answer.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	if err := child.Stop(s.cmd.Process); err != nil {
		tb.Fatalf("stopping %s: %v", s.engine.name, err)
	}
	for _, p := range children(s.cmd.Process.Pid) { // a stopped parent gets no new ones
		_ = child.Stop(p) // it may have ended
	}
}

// Cont continues a stopped server.
func (s *Server) Cont(tb testing.TB) {
	tb.Helper()
	for _, p := range children(s.cmd.Process.Pid) {
		_ = child.Cont(p) // it may have ended
	}
	if err := child.Cont(s.cmd.Process); err != nil {
		tb.Fatalf("continuing %s: %v", s.engine.name, err)
	}
}

// Kill kills all processes of the server and waits until they have ended.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = child.Stop(s.cmd.Process) // it may have ended
	all := append(children(s.cmd.Process.Pid), s.cmd.Process)
	for _, p := range all {
		_ = p.Kill()
	}
	<-s.exited // the output of all has ended
}

// Shutdown ends the server in an orderly way: it closes all connections and aborts
// their transactions.
func (s *Server) Shutdown(tb testing.TB) {
	tb.Helper()
	if err := s.cmd.Process.Signal(s.engine.asks); err != nil {
		tb.Fatalf("ending %s: %v", s.engine.name, err)
	}
	select {
	case <-s.exited:
	case <-time.After(patience):
		tb.Fatalf("%s does not end: %s", s.engine.name, s.log.sinceMark())
	}
}

// Restart starts the server again after Kill or Shutdown, with its data and on the same
// port.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	if err := s.boot(); err != nil {
		tb.Fatalf("%s does not start again: %v", s.engine.name, err)
	}
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

// remove kills the server and removes its data.
func (s *Server) remove() {
	s.Kill()
	_ = os.RemoveAll(s.dir)
}
