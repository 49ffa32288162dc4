package zktest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/child"
)

// Ensemble is three replicated servers.
type Ensemble struct {
	Servers []*Server
	lines   []string // of every server's configuration
}

// StartEnsemble starts three servers, waits until they accept clients, and kills them
// when the test ends.
func StartEnsemble(tb testing.TB, c Config) *Ensemble {
	tb.Helper()
	e, err := LaunchEnsemble(tb.TempDir(), c)
	Need(tb, err)
	tb.Cleanup(e.Kill)
	return e
}

// LaunchEnsemble is [StartEnsemble] for servers that outlive a test.
func LaunchEnsemble(dir string, c Config) (*Ensemble, error) {
	java, path, err := ServerPath()
	if err != nil {
		return nil, err
	}
	// Another process may take a port before the server listens on it.
	for try := range 5 {
		var e *Ensemble
		if e, err = launchEnsemble(filepath.Join(dir, strconv.Itoa(try)), java, path, c); err == nil {
			return e, nil
		}
	}
	return nil, fmt.Errorf("zktest: the ensemble does not start: %w", err)
}

func launchEnsemble(dir, java, path string, c Config) (*Ensemble, error) {
	// The limits are in ticks. They are long, so that a follower on a busy machine does
	// not cause an election.
	e := &Ensemble{lines: []string{"initLimit=100", "syncLimit=50"}}
	for id := 1; id <= 3; id++ {
		s := &Server{java: java, path: path, dir: filepath.Join(dir, strconv.Itoa(id)), config: c}
		data := filepath.Join(s.dir, "data")
		if err := os.MkdirAll(data, 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(data, "myid"), []byte(strconv.Itoa(id)), 0o600); err != nil {
			return nil, err
		}
		var ports [3]int
		for i := range ports {
			var err error
			if ports[i], err = child.FreePort(); err != nil {
				return nil, err
			}
		}
		s.port = ports[0]
		e.lines = append(e.lines, fmt.Sprintf("server.%d=127.0.0.1:%d:%d", id, ports[1], ports[2]))
		e.Servers = append(e.Servers, s)
	}
	for _, s := range e.Servers {
		if err := s.boot(e.lines); err != nil {
			e.Kill()
			return nil, err
		}
	}
	for _, s := range e.Servers {
		if err := s.serves(); err != nil {
			e.Kill()
			return nil, err
		}
	}
	return e, nil
}

// Addrs returns the addresses of the servers.
func (e *Ensemble) Addrs() []string {
	var addrs []string
	for _, s := range e.Servers {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// Leader waits for a leader and returns it.
func (e *Ensemble) Leader(tb testing.TB) *Server {
	tb.Helper()
	for start := time.Now(); time.Since(start) < patience; time.Sleep(20 * time.Millisecond) {
		for _, s := range e.Servers {
			if answer, err := s.Ask("srvr"); err == nil && strings.Contains(answer, "Mode: leader") {
				return s
			}
		}
	}
	tb.Fatal("no server leads")
	return nil
}

// Restart starts a killed server of the ensemble again, with its data.
func (e *Ensemble) Restart(tb testing.TB, s *Server) {
	tb.Helper()
	err := s.boot(e.lines)
	if err == nil {
		err = s.serves()
	}
	if err != nil {
		tb.Fatalf("the server does not start again: %v", err)
	}
}

// Kill kills all servers.
func (e *Ensemble) Kill() {
	for _, s := range e.Servers {
		s.Kill()
	}
}
