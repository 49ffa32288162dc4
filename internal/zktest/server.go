// Package zktest starts ZooKeeper servers for tests: real ones, as child processes
// that can be stopped, killed and started again. Only tests import it.
package zktest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/child"
	"github.com/distlock-go/distlock/internal/testmode"
)

// patience bounds what a server does soon, on a machine that is slow and busy.
const patience = time.Minute

// Config is how a server is set up. The zero value works.
type Config struct {
	// Tick is the server's unit of time: sessions time out after two of them at the
	// least, and at a multiple of them. The default is 200 ms.
	Tick time.Duration

	// Properties are Java's, as in "znode.container.checkIntervalMs=100".
	Properties []string
}

// Server is a ZooKeeper server of its own.
type Server struct {
	java, path string
	dir        string
	port       int
	config     Config

	mu      sync.Mutex
	cmd     *exec.Cmd
	exited  <-chan struct{}
	output  *bytes.Buffer
	stopped bool
}

// Start starts an empty standalone server, and kills it when the test ends. The
// test is skipped if there is none on this machine, or fails; see [child.RealEnv].
func Start(tb testing.TB, c Config) *Server {
	tb.Helper()
	dir := tb.TempDir()
	s, err := Launch(dir, c)
	Need(tb, err)
	tb.Cleanup(s.Kill)
	return s
}

// Need skips the test if err wraps [ErrMissing], unless [child.RealEnv] says that it must
// run, and fails it because of any other error.
func Need(tb testing.TB, err error) {
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

// Launch is [Start] for what outlives a test. The caller has to kill it and to
// remove dir.
func Launch(dir string, c Config) (*Server, error) {
	java, path, err := ServerPath()
	if err != nil {
		return nil, err
	}
	s := &Server{java: java, path: path, dir: dir, config: c}
	// Another process may take the port between the choice and the start.
	for range 5 {
		if s.port, err = child.FreePort(); err != nil {
			return nil, err
		}
		if err = s.boot(nil); err == nil {
			if err = s.serves(); err == nil {
				return s, nil
			}
		}
		s.Kill()
	}
	return nil, fmt.Errorf("zktest: the server does not start: %w", err)
}

// ServerPath is [ClassPath] for the server.
func ServerPath() (java, path string, err error) { return ClassPath("zookeeper", "slf4j-nop") }

// boot writes the configuration, with lines at its end, and starts the process.
func (s *Server) boot(lines []string) error {
	tick := s.config.Tick
	if tick == 0 {
		tick = 200 * time.Millisecond
	}
	conf := slices.Concat([]string{
		"tickTime=" + strconv.FormatInt(tick.Milliseconds(), 10),
		"dataDir=" + filepath.Join(s.dir, "data"),
		"clientPort=" + strconv.Itoa(s.port),
		"clientPortAddress=127.0.0.1",
		"admin.enableServer=false",
		"4lw.commands.whitelist=*",
		"maxClientCnxns=0",
		"maxSessionTimeout=600000",
	}, lines)
	file := filepath.Join(s.dir, "zoo.cfg")
	if err := os.WriteFile(file, []byte(strings.Join(conf, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	args := []string{"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.jmx.log4j.disable=true",
		"-Dzookeeper.forceSync=no"} // nobody cuts the power
	for _, p := range s.config.Properties {
		args = append(args, "-D"+p)
	}
	args = append(args, "-cp", s.path, "org.apache.zookeeper.server.quorum.QuorumPeerMain", file)
	cmd := exec.Command(s.java, args...)
	cmd.Dir = s.dir
	output := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = output, output
	exited, err := child.Start(cmd)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cmd, s.exited, s.output, s.stopped = cmd, exited, output, false
	return nil
}

// serves waits until the server serves clients. It says that it is all right long
// before that.
func (s *Server) serves() error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.exited:
			return errors.New(s.output.String())
		case <-limit.C:
			return errors.New("zktest: the server does not serve")
		case <-tick.C:
			if answer, err := s.Ask("srvr"); err == nil && strings.Contains(answer, "Mode: ") {
				return nil
			}
		}
	}
}

// Addr returns host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Ask sends one of ZooKeeper's four-letter commands.
func (s *Server) Ask(command string) (string, error) {
	c, err := net.DialTimeout("tcp", s.Addr(), 5*time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close() //nolint:errcheck // nothing is lost
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c, command); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(c)
	if len(answer) > 0 {
		err = nil // it may reset the connection behind its answer
	}
	return string(answer), err
}

// Metric returns one of the figures that the command mntr tells.
func (s *Server) Metric(tb testing.TB, name string) int64 {
	tb.Helper()
	var answer string
	var err error
	for start := time.Now(); time.Since(start) < patience; { // the end of an answer may be lost
		answer, err = s.Ask("mntr")
		for text := range strings.Lines(answer) {
			if f := strings.Fields(text); len(f) == 2 && f[0] == name && strings.HasSuffix(text, "\n") {
				v, err := strconv.ParseFloat(f[1], 64)
				if err != nil {
					tb.Fatalf("mntr: %q: %v", text, err)
				}
				return int64(v)
			}
		}
	}
	tb.Fatalf("mntr tells nothing of %s: %d bytes, %v", name, len(answer), err)
	return 0
}

// Stop stops the process as a debugger does: connections stay, nothing answers.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := child.Stop(s.cmd.Process); err != nil {
		tb.Fatalf("stopping the server: %v", err)
	}
	s.stopped = true
}

// Cont lets a stopped process go on.
func (s *Server) Cont(tb testing.TB) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := child.Cont(s.cmd.Process); err != nil {
		tb.Fatalf("continuing the server: %v", err)
	}
	s.stopped = false
}

// Kill kills the process and waits for its end.
func (s *Server) Kill() {
	s.mu.Lock()
	cmd, exited := s.cmd, s.exited
	s.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Kill() // it may have exited by itself
	<-exited
}

// Restart starts a killed server again, with its data, on the same port.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	err := s.boot(nil)
	if err == nil {
		err = s.serves()
	}
	if err != nil {
		tb.Fatalf("the server does not start again: %v", err)
	}
}
