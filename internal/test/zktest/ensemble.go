package zktest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
)

// Ensemble is three replicated servers.
type Ensemble struct {
	child.Cluster[*Server]
}

// StartEnsemble starts three servers, waits until they accept clients, and kills them
// when the test ends.
func StartEnsemble(tb testing.TB, c Config) *Ensemble {
	tb.Helper()
	e, dir := new(Ensemble), tb.TempDir()
	for id := 1; id <= 3; id++ {
		s := newServer(dir, c, 3)
		s.id, s.ensemble = id, e
		e.Servers = append(e.Servers, s)
	}
	child.Run(tb, e.Servers...)
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

// Leader waits for a leader and returns it.
func (e *Ensemble) Leader(tb testing.TB) *Server {
	tb.Helper()
	return e.Cluster.Leader(tb, func(s *Server) bool {
		answer, err := s.Ask("srvr")
		return err == nil && strings.Contains(answer, "Mode: leader")
	})
}
