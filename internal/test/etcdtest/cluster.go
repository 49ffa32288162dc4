package etcdtest

import (
	"fmt"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
)

// Cluster is three replicated servers.
type Cluster struct {
	child.Cluster[*Server]
}

// StartCluster starts three empty servers, and kills them when the test ends. args are
// appended to the default arguments. Unless they change it, a leader that is silent for
// one to two seconds loses its role, and the shortest lease lasts two seconds.
func StartCluster(tb testing.TB, args ...string) *Cluster {
	tb.Helper()
	c := &Cluster{child.Cluster[*Server]{Servers: newServers(tb.TempDir(), 3, args)}}
	child.Run(tb, c.Servers...)
	return c
}

// Leader waits for a leader and returns it.
func (c *Cluster) Leader(tb testing.TB) *Server {
	tb.Helper()
	return c.Cluster.Leader(tb, (*Server).leads)
}

// leads reports whether the server leads. It has to answer itself: the others name a leader
// for a while after it has stopped.
func (s *Server) leads() bool {
	self, leader, err := s.status()
	return err == nil && self == leader
}

// MoveLeader makes another server the leader, and returns it.
func (c *Cluster) MoveLeader(tb testing.TB) (now *Server) {
	tb.Helper()
	from := c.Leader(tb)
	return c.Cluster.Leader(tb, func(s *Server) bool {
		id, _, err := s.status()
		if err != nil || s == from {
			return false
		}
		// The leader refuses while another transfer is under way.
		_ = from.post("/v3/maintenance/transfer-leadership", fmt.Sprintf(`{"targetID":%q}`, id), new(any))
		return s.leads()
	})
}
