// Package etcdtest starts etcd servers for tests, as child processes that can be stopped,
// killed and restarted. It does not need a client of etcd. Only tests import it.
package etcdtest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/child"
	"github.com/distlock-go/distlock/internal/testmode"
)

// ErrMissing means that etcd is not installed.
var ErrMissing = errors.New("etcdtest: needs etcd in PATH")

// patience limits the wait for a server on a slow and busy machine.
const patience = time.Minute

// Server is an etcd process.
type Server struct {
	bin  string
	args []string
	port int

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited <-chan struct{}
	output *bytes.Buffer
}

// Start starts an empty server that is not part of a cluster, and kills it when the test
// ends. args are appended to the default arguments, which make the shortest lease last
// one second. The test is skipped if there is no etcd; see [child.RealEnv].
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s, err := Launch(tb.TempDir(), args...)
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
func Launch(dir string, args ...string) (*Server, error) {
	servers, err := launch(dir, 1, append([]string{"--heartbeat-interval=20", "--election-timeout=200"}, args...))
	if err != nil {
		return nil, err
	}
	return servers[0], nil
}

// launch starts n servers that are one cluster.
func launch(dir string, n int, args []string) ([]*Server, error) {
	bin, err := exec.LookPath("etcd")
	if err != nil {
		return nil, errors.Join(ErrMissing, err)
	}
	// Another process may take a port before the server listens on it.
	for try := range 5 {
		var servers []*Server
		if servers, err = form(bin, filepath.Join(dir, strconv.Itoa(try)), n, args); err == nil {
			return servers, nil
		}
	}
	return nil, fmt.Errorf("etcdtest: etcd does not start: %w", err)
}

func form(bin, dir string, n int, args []string) ([]*Server, error) {
	var servers []*Server
	var members, peers []string
	for i := range n {
		client, err := child.FreePort()
		if err != nil {
			return nil, err
		}
		peer, err := child.FreePort()
		if err != nil {
			return nil, err
		}
		peers = append(peers, "http://"+address(peer))
		members = append(members, fmt.Sprintf("m%d=%s", i+1, peers[i]))
		servers = append(servers, &Server{bin: bin, port: client})
	}
	for i, s := range servers {
		name, url := fmt.Sprintf("m%d", i+1), "http://"+s.Addr()
		s.args = append([]string{
			"--name=" + name,
			"--data-dir=" + filepath.Join(dir, name),
			"--listen-client-urls=" + url,
			"--advertise-client-urls=" + url,
			"--listen-peer-urls=" + peers[i],
			"--initial-advertise-peer-urls=" + peers[i],
			"--initial-cluster=" + strings.Join(members, ","),
			"--initial-cluster-token=" + dir,
			"--logger=zap", "--log-level=warn",
		}, args...)
	}
	if err := start(servers); err != nil {
		for _, s := range servers {
			s.Kill()
		}
		return nil, err
	}
	return servers, nil
}

// start starts the processes, and then waits until they serve clients: a member of a
// cluster does not serve without the others.
func start(servers []*Server) error {
	for _, s := range servers {
		if err := s.boot(); err != nil {
			return err
		}
	}
	for _, s := range servers {
		if err := s.serves(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) boot() error {
	cmd := exec.Command(s.bin, s.args...)
	output := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = output, output
	exited, err := child.Start(cmd)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cmd, s.exited, s.output = cmd, exited, output
	return nil
}

// serves waits until the server is healthy: it has a leader, and commits.
func (s *Server) serves() error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.exited:
			return errors.New(s.output.String())
		case <-limit.C:
			return errors.New("etcdtest: the server does not serve")
		case <-tick.C:
			if s.healthy() {
				return nil
			}
		}
	}
}

// Addr returns host and port.
func (s *Server) Addr() string { return address(s.port) }

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Stop sends SIGSTOP: connections stay open, and the server does not answer.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := child.Stop(s.cmd.Process); err != nil {
		tb.Fatalf("stopping etcd: %v", err)
	}
}

// Cont continues a stopped process.
func (s *Server) Cont(tb testing.TB) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := child.Cont(s.cmd.Process); err != nil {
		tb.Fatalf("continuing etcd: %v", err)
	}
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

// Restart restarts a killed server with its data, on the same port. Without a majority of
// its cluster it would not serve; see [Cluster.Restart].
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	if err := start([]*Server{s}); err != nil {
		tb.Fatalf("etcd does not start again: %v", err)
	}
}
