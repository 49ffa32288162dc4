package zktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// Ensemble is three replicated servers.
type Ensemble struct {
	Servers []*Server
}

// StartEnsemble starts three servers, waits until they accept clients, and kills them
// when the test ends.
func StartEnsemble(tb testing.TB, c Config) *Ensemble {
	tb.Helper()
	testmode.InRealTime(tb)
	e, dir := new(Ensemble), tb.TempDir()
	var processes []*child.Server
	for id := 1; id <= 3; id++ {
		s := newServer(dir, c, 3)
		s.id, s.ensemble = id, e
		e.Servers = append(e.Servers, s)
		processes = append(processes, &s.Server)
	}
	child.Need(tb, child.Launch(processes...))
	tb.Cleanup(e.Kill)
	return e
}

// lines returns what the configuration of each member says of all.
func (e *Ensemble) lines() []string {
	// The limits are in ticks. They are long, so that a follower on a busy machine does
	// not cause an election.
	lines := []string{"initLimit=100", "syncLimit=50"}
	for _, s := range e.Servers {
		lines = append(lines, fmt.Sprintf("server.%d=127.0.0.1:%d:%d", s.id, s.Ports[1], s.Ports[2]))
	}
	return lines
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
	leads := -1
	child.Await(tb, "a server leads", func() bool {
		leads = slices.IndexFunc(e.Servers, func(s *Server) bool {
			answer, err := s.Ask("srvr")
			return err == nil && strings.Contains(answer, "Mode: leader")
		})
		return leads >= 0
	})
	return e.Servers[leads]
}

// Kill kills all servers.
func (e *Ensemble) Kill() {
	for _, s := range e.Servers {
		s.Kill()
	}
}
