package etcdtest

import (
	"fmt"
	"testing"
	"time"

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
func (c *Cluster) Leader(tb testing.TB) *Server {
	tb.Helper()
	for start := time.Now(); time.Since(start) < patience; time.Sleep(20 * time.Millisecond) {
		if s := c.leader(); s != nil {
			return s
		}
	}
	tb.Fatal("no server leads")
	return nil
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

// MoveLeader makes another server the leader, and returns the one that leads now.
func (c *Cluster) MoveLeader(tb testing.TB) *Server {
	tb.Helper()
	from := c.Leader(tb)
	for start := time.Now(); time.Since(start) < patience; time.Sleep(20 * time.Millisecond) {
		if now := c.leader(); now != nil && now != from {
			return now
		}
		for _, to := range c.Servers {
			if id, _, err := to.status(); err == nil && to != from {
				// The leader refuses while another transfer is under way.
				_ = from.post("/v3/maintenance/transfer-leadership", fmt.Sprintf(`{"targetID":%q}`, id), new(any))
				break
			}
		}
	}
	tb.Fatal("the leader does not move")
	return nil
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
