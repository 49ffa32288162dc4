package etcdtest

import (
	"fmt"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
)

// Cluster is three replicated servers.
type Cluster struct {
	Servers []*Server
}

// StartCluster starts three empty servers, and kills them when the test ends. args are
// appended to the default arguments. Unless they change it, a leader that is silent for
// one to two seconds loses its role, and the shortest lease lasts two seconds.
func StartCluster(tb testing.TB, args ...string) *Cluster {
	tb.Helper()
	return &Cluster{Servers: run(tb, 3, args)}
}

// Addrs returns the addresses of the servers.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, s := range c.Servers {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// Leader waits for a leader and returns it.
func (c *Cluster) Leader(tb testing.TB) (leader *Server) {
	tb.Helper()
	child.Await(tb, "a server leads", func() bool {
		leader = c.leader()
		return leader != nil
	})
	return leader
}

// leader returns the server that leads, or nil. The leader has to answer itself: the
// others name a leader for a while after it has stopped.
func (c *Cluster) leader() *Server {
	for _, s := range c.Servers {
		if self, leader, err := s.status(); err == nil && self == leader {
			return s
		}
	}
	return nil
}

// MoveLeader makes another server the leader, and returns it.
func (c *Cluster) MoveLeader(tb testing.TB) (now *Server) {
	tb.Helper()
	from := c.Leader(tb)
	child.Await(tb, "the leader moves", func() bool {
		if now = c.leader(); now != nil && now != from {
			return true
		}
		for _, to := range c.Servers {
			if id, _, err := to.status(); err == nil && to != from {
				// The leader refuses while another transfer is under way.
				_ = from.post("/v3/maintenance/transfer-leadership", fmt.Sprintf(`{"targetID":%q}`, id), new(any))
				break
			}
		}
		return false
	})
	return now
}

// Kill kills all servers.
func (c *Cluster) Kill() {
	for _, s := range c.Servers {
		s.Kill()
	}
}

// Restart restarts all servers with their data, after [Cluster.Kill].
func (c *Cluster) Restart(tb testing.TB) {
	tb.Helper()
	var processes []*child.Server
	for _, s := range c.Servers {
		processes = append(processes, &s.Server)
	}
	child.Restart(tb, processes...)
}
