// Package redistest starts Redis servers for tests: real servers, each as a
// [child.Server], which can be stopped, killed and started again, and a simulated
// server that uses the time of a testing/synctest bubble. Only tests import it.
//
// A new fault of Redis goes here: a server that answers writes with an error is a
// [Refusal], one that is slow or does not answer a method of [Server] beside
// [Server.Sleep], and a client without connections stands beside [UseUp]. A fault that
// any server can have goes to package child, and one of the network to package spoilnet.
package redistest

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/test/child"
)

// BinaryEnv is the environment variable with the server that tests start: a name in
// PATH or an absolute path, for example valkey-server. The default is redis-server.
const BinaryEnv = "DISTLOCK_TEST_REDIS"

// Server is a process of redis-server, or of the server that [BinaryEnv] names.
type Server struct {
	child.Server

	tb      testing.TB
	program program
	dir     string
	conf    string // configuration file; "" if there is none
	args    []string
	env     []string    // more of it than this process has
	tls     *tls.Config // for clients; nil if the server does not use TLS

	adminOnce   sync.Once
	adminClient *redis.Client
}

// Start starts an empty server without persistence, and kills it when the test ends.
// args are appended to the default arguments. The test is skipped if there is no
// redis-server; see [child.Need].
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return launch(tb, &Server{args: args}, "")
}

// Launch is [Start] for a server that outlives a test. The caller has to kill the server and
// to remove dir.
func Launch(dir string, args ...string) (*Server, error) {
	s := &Server{dir: dir, args: args}
	err := s.prepare()
	if err == nil {
		err = child.Launch(s)
	}
	return s, err
}

// launch starts s, which has arguments, and may have an environment and, if it uses
// TLS, the configuration of its clients. If text is not empty, it is the content of the
// server's configuration file, which the server may rewrite.
func launch(tb testing.TB, s *Server, text string) *Server {
	tb.Helper()
	child.Need(tb, s.prepare())
	s.tb, s.dir = tb, tb.TempDir()
	if text != "" {
		s.conf = filepath.Join(s.dir, "redis.conf")
		must(tb, os.WriteFile(s.conf, []byte(text), 0o600))
	}
	child.Run(tb, s)
	return s
}

// prepare finds the program.
func (s *Server) prepare() (err error) {
	s.program, err = installed()
	s.Server = child.Server{Name: filepath.Base(s.program.path), Ports: make([]int, 1), Command: s.command, Ready: s.ready}
	return err
}

// program is what [BinaryEnv] names.
type program struct {
	path  string
	debug []string // arguments that allow DEBUG
}

// installed finds the program once: the tests start hundreds of servers.
var installed = sync.OnceValues(func() (p program, err error) {
	if named := os.Getenv(BinaryEnv); named == "" {
		p.path, err = child.LookPath("redis-server", "needs a redis-server in PATH")
	} else if p.path, err = exec.LookPath(named); err != nil {
		err = fmt.Errorf("%s=%q, and there is no such server: %w", BinaryEnv, named, err)
	}
	if err != nil {
		return p, err
	}
	version, err := exec.Command(p.path, "--version").Output()
	if err != nil {
		return p, fmt.Errorf("%s --version: %w", p.path, err)
	}
	// A server before version 7 always allows it.
	if !bytes.Contains(version, []byte("v=5.")) && !bytes.Contains(version, []byte("v=6.")) {
		p.debug = []string{"--enable-debug-command", "yes"}
	}
	return p, nil
})

func (s *Server) command() (*exec.Cmd, error) {
	var args []string
	if s.conf != "" {
		args = append(args, s.conf)
	}
	if s.tls != nil {
		args = append(args, "--port", "0", "--tls-port")
	} else {
		args = append(args, "--port")
	}
	args = append(args, strconv.Itoa(s.Ports[0]),
		"--bind", "127.0.0.1", "--dir", s.dir,
		"--save", "", "--appendonly", "no")
	cmd := exec.Command(s.program.path, slices.Concat(args, s.program.debug, s.args)...)
	cmd.Env = append(os.Environ(), s.env...)
	return cmd, nil
}

// ready reports whether the server answers, if only that a password is missing.
func (s *Server) ready() bool {
	o := &redis.Options{Addr: s.Addr(), MaxRetries: -1, TLSConfig: s.tls.Clone()}
	if o.TLSConfig != nil {
		o.TLSConfig.InsecureSkipVerify = true //nolint:gosec // a certificate may be bad on purpose
	}
	c := redis.NewClient(o)
	defer c.Close() //nolint:errcheck // nothing is lost
	err := c.Ping(context.Background()).Err()
	return err == nil || redis.HasErrorPrefix(err, "NOAUTH")
}

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

// admin returns a client for the methods of s.
func (s *Server) admin() *redis.Client {
	s.adminOnce.Do(func() { s.adminClient = s.Client(s.tb) })
	return s.adminClient
}

// Stop stops the process: connections stay open, and the server does not answer.
func (s *Server) Stop() {
	s.tb.Helper()
	s.Server.Stop(s.tb)
}

// Cont continues a stopped process.
func (s *Server) Cont() {
	s.tb.Helper()
	s.Server.Cont(s.tb)
}

// Restart starts the server again, empty, on the same port. Kill it first.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Server.Restart(s.tb)
}
