// Package redistest starts Redis servers for tests: real servers as child processes
// that can be stopped, killed and restarted, and a simulated server that uses the time
// of a testing/synctest bubble. Only tests import it.
package redistest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/child"
	"github.com/distlock-go/distlock/internal/testmode"
)

// BinaryEnv is the environment variable with the server that tests start: a name in PATH or
// an absolute path, for example valkey-server. The default is redis-server.
const BinaryEnv = "DISTLOCK_TEST_REDIS"

// Server is a process of redis-server, or of the server that [BinaryEnv] names.
type Server struct {
	tb   testing.TB
	bin  string
	dir  string
	port int
	conf string // configuration file; "" if there is none
	args []string
	env  []string    // more of it than this process has
	tls  *tls.Config // for clients; nil if the server does not use TLS

	mu      sync.Mutex
	cmd     *exec.Cmd
	exited  <-chan struct{}
	output  *bytes.Buffer
	stopped bool
}

// Start starts an empty server without persistence, and kills it when the test ends. args
// are appended to the default arguments. The test is skipped if there is no redis-server;
// see [child.RealEnv].
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return launch(tb, &Server{args: args}, "")
}

// launch starts s, which has arguments, and may have an environment and, if it uses TLS,
// the configuration of its clients. If text is not empty, it is the content of the
// server's configuration file, which the server may rewrite.
func launch(tb testing.TB, s *Server, text string) *Server {
	tb.Helper()
	named := os.Getenv(BinaryEnv)
	bin, err := exec.LookPath(cmp.Or(named, "redis-server"))
	if err != nil {
		if named != "" || child.Required() {
			tb.Fatalf("%s=%q, and there is no such server: %v", BinaryEnv, named, err)
		}
		tb.Skipf(testmode.LeftOut+"needs a redis-server in PATH: %v", err)
	}
	testmode.InRealTime(tb)
	s.tb, s.bin, s.dir = tb, bin, tb.TempDir()
	s.args = slices.Concat(debugOption(tb, bin), s.args)
	if text != "" {
		s.conf = filepath.Join(s.dir, "redis.conf")
		if err := os.WriteFile(s.conf, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	tb.Cleanup(s.Kill)
	// Another process may take the port before the server listens on it.
	for range 5 {
		if s.port, err = child.FreePort(); err != nil {
			tb.Fatal(err)
		}
		if err = s.start(); err == nil {
			return s
		}
	}
	tb.Fatalf("redis-server does not start: %v", err)
	return nil
}

// debugOption returns the arguments that allow DEBUG. A server before version 7 always
// allows it.
func debugOption(tb testing.TB, bin string) []string {
	tb.Helper()
	version, err := exec.Command(bin, "--version").Output()
	if err != nil {
		tb.Fatalf("%s --version: %v", bin, err)
	}
	if bytes.Contains(version, []byte("v=5.")) || bytes.Contains(version, []byte("v=6.")) {
		return nil
	}
	return []string{"--enable-debug-command", "yes"}
}

func (s *Server) start() error {
	var args []string
	if s.conf != "" {
		args = append(args, s.conf)
	}
	if s.tls != nil {
		args = append(args, "--port", "0", "--tls-port", strconv.Itoa(s.port))
	} else {
		args = append(args, "--port", strconv.Itoa(s.port))
	}
	args = append(args,
		"--bind", "127.0.0.1", "--dir", s.dir,
		"--save", "", "--appendonly", "no")
	cmd := exec.Command(s.bin, append(args, s.args...)...)
	cmd.Env = append(os.Environ(), s.env...)
	output := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = output, output
	exited, err := child.Start(cmd)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.cmd, s.exited, s.output, s.stopped = cmd, exited, output, false
	s.mu.Unlock()

	o := &redis.Options{Addr: s.Addr(), MaxRetries: -1, TLSConfig: s.tls.Clone()}
	if o.TLSConfig != nil {
		o.TLSConfig.InsecureSkipVerify = true //nolint:gosec // a certificate may be bad on purpose
	}
	c := redis.NewClient(o)
	defer c.Close() //nolint:errcheck // nothing is lost
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-exited:
			return errors.New(output.String())
		case <-ctx.Done():
			s.Kill()
			return errors.New("no answer to PING")
		case <-tick.C:
			if err := c.Ping(ctx).Err(); err == nil || redis.HasErrorPrefix(err, "NOAUTH") {
				return nil
			}
		}
	}
}

// Addr returns host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Client returns a client with default options, changed by change, and closes it when
// the test ends.
func (s *Server) Client(tb testing.TB, change ...func(*redis.Options)) *redis.Client {
	tb.Helper()
	o := &redis.Options{Addr: s.Addr(), TLSConfig: s.tls.Clone()}
	for _, f := range change {
		f(o)
	}
	c := redis.NewClient(o)
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// Stop sends SIGSTOP: connections stay open, and the server does not answer.
func (s *Server) Stop() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := child.Stop(s.cmd.Process); err != nil {
		s.tb.Fatalf("stopping redis-server: %v", err)
	}
	s.stopped = true
}

// Cont continues a stopped process.
func (s *Server) Cont() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := child.Cont(s.cmd.Process); err != nil {
		s.tb.Fatalf("continuing redis-server: %v", err)
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

// Restart starts the server again, empty, on the same port. Kill it first.
func (s *Server) Restart() {
	s.tb.Helper()
	if err := s.start(); err != nil {
		s.tb.Fatalf("redis-server does not start again: %v", err)
	}
}
