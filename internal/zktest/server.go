// Package zktest starts ZooKeeper servers for tests, as child processes that can be
// stopped, killed and restarted. Only tests import it.
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

// patience limits the wait for a server on a slow and busy machine.
const patience = time.Minute

// Config configures a server. The zero value works.
type Config struct {
	// Tick is the server's unit of time. The shortest session timeout is two ticks. The
	// default is 200 ms.
	Tick time.Duration

	// Properties are Java system properties, such as
	// "znode.container.checkIntervalMs=100".
	Properties []string

	// Settings are lines of the configuration file. They come after the others, and so
	// win.
	Settings []string
}

// Server is a ZooKeeper server process.
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

// Start starts an empty standalone server, and kills it when the test ends. The test is
// skipped if ZooKeeper is not installed; see [child.RealEnv].
func Start(tb testing.TB, c Config) *Server {
	tb.Helper()
	dir := tb.TempDir()
	s, err := Launch(dir, c)
	Need(tb, err)
	tb.Cleanup(s.Kill)
	return s
}

// Need handles the error of a launch. It skips the test if err wraps [ErrMissing],
// unless [child.RealEnv] forbids that, and fails the test for any other error.
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

// Launch is [Start] for a server that outlives a test. The caller has to kill the
// server and to remove dir.
func Launch(dir string, c Config) (*Server, error) {
	java, path, err := ServerPath()
	if err != nil {
		return nil, err
	}
	s := &Server{java: java, path: path, dir: dir, config: c}
	// Another process may take the port before the server listens on it.
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

// ServerPath returns the paths that start the server, as [ClassPath] does.
func ServerPath() (java, path string, err error) { return ClassPath("zookeeper", "slf4j-nop") }

// boot writes the configuration, appends lines to it, and starts the process.
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
	}, lines, s.config.Settings)
	file := filepath.Join(s.dir, "zoo.cfg")
	if err := os.WriteFile(file, []byte(strings.Join(conf, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	args := []string{"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.jmx.log4j.disable=true",
		"-Dzookeeper.forceSync=no"} // a power failure is not tested
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

// serves waits until the server serves clients. The command ruok says that the server
// is well long before that.
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

// Ask sends a four-letter command and returns the answer.
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
		err = nil // the server may reset the connection after its answer
	}
	return string(answer), err
}

// Metric returns a value from the output of the command mntr.
func (s *Server) Metric(tb testing.TB, name string) int64 {
	tb.Helper()
	var answer string
	var err error
	for start := time.Now(); time.Since(start) < patience; { // the end of an answer can get lost
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

// Stop sends SIGSTOP: connections stay open, and the server does not answer.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := child.Stop(s.cmd.Process); err != nil {
		tb.Fatalf("stopping the server: %v", err)
	}
	s.stopped = true
}

// Cont continues a stopped process.
func (s *Server) Cont(tb testing.TB) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := child.Cont(s.cmd.Process); err != nil {
		tb.Fatalf("continuing the server: %v", err)
	}
	s.stopped = false
}

// Kill kills the process and waits until it has exited.
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

// Restart restarts a killed server with its data, on the same port.
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
