package redistest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const slots = 16384

// StartCluster starts a Redis Cluster of n masters without replicas. A master
// that is stopped stays a master for a minute.
func StartCluster(tb testing.TB, n int) []*Server {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	defer cancel()

	servers := make([]*Server, n)
	clients := make([]*redis.Client, n)
	for i := range servers {
		s := Start(tb, "--cluster-enabled", "yes", "--cluster-node-timeout", "60000",
			"--cluster-require-full-coverage", "no")
		c := s.Client(tb)
		if err := c.ClusterAddSlotsRange(ctx, i*slots/n, (i+1)*slots/n-1).Err(); err != nil {
			tb.Fatal(err)
		}
		// Without an epoch of its own for each, masters may fight for their slots.
		if err := c.Do(ctx, "cluster", "set-config-epoch", i+1).Err(); err != nil {
			tb.Fatal(err)
		}
		servers[i], clients[i] = s, c
	}
	for _, c := range clients[1:] {
		host, port, _ := strings.Cut(servers[0].Addr(), ":")
		if err := c.ClusterMeet(ctx, host, port).Err(); err != nil {
			tb.Fatal(err)
		}
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for _, c := range clients {
		for !agrees(ctx, c, n) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				tb.Fatalf("the cluster does not form:\n%s", c.ClusterNodes(tb.Context()).Val())
			}
		}
	}
	return servers
}

// agrees reports whether the node knows all n masters and all slots.
func agrees(ctx context.Context, c *redis.Client, n int) bool {
	info := c.ClusterInfo(ctx).Val()
	nodes := c.ClusterNodes(ctx).Val()
	return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_assigned:16384") &&
		strings.Count(nodes, " connected ") == n && !strings.Contains(nodes, "handshake")
}

// ClusterClient returns a client of the cluster that servers are the masters of,
// and closes it when the test ends.
func ClusterClient(tb testing.TB, servers []*Server, change ...func(*redis.ClusterOptions)) *redis.ClusterClient {
	tb.Helper()
	o := &redis.ClusterOptions{}
	for _, s := range servers {
		o.Addrs = append(o.Addrs, s.Addr())
	}
	for _, f := range change {
		f(o)
	}
	c := redis.NewClusterClient(o)
	tb.Cleanup(func() { _ = c.Close() })
	return c
}
