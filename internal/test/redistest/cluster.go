package redistest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const slots = 16384

// Cluster is a Redis Cluster. Masters and Replicas are the roles at the start: after a
// failover a replica is a master.
type Cluster struct {
	Masters  []*Server
	Replicas []*Server // number i is a replica of master i % len(Masters)
}

// Servers returns all servers, masters first.
func (c *Cluster) Servers() []*Server { return slices.Concat(c.Masters, c.Replicas) }

// StartCluster starts a Redis Cluster of n masters without replicas. The cluster
// declares a stopped master dead after a minute.
func StartCluster(tb testing.TB, n int) []*Server {
	tb.Helper()
	return startCluster(tb, n, 0, time.Minute).Masters
}

// FailoverAfter is how long a master of StartClusterWithReplicas or StartSentinels has
// to be silent before its replica takes over. It is longer than the pauses of a busy
// machine, so that a slow master does not lose its role.
const FailoverAfter = 3 * time.Second

// StartClusterWithReplicas starts a Redis Cluster. If a master dies, its replica takes
// over, however old the replica's data is.
func StartClusterWithReplicas(tb testing.TB, masters, replicas int) *Cluster {
	tb.Helper()
	return startCluster(tb, masters, replicas, FailoverAfter)
}

func startCluster(tb testing.TB, masters, replicas int, timeout time.Duration) *Cluster {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()

	cluster := new(Cluster)
	n := masters + replicas
	clients := make([]*redis.Client, n)
	for i := range n {
		s := Start(tb, "--cluster-enabled", "yes",
			"--cluster-node-timeout", strconv.FormatInt(timeout.Milliseconds(), 10),
			"--cluster-require-full-coverage", "no",
			"--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0")
		c := s.Client(tb)
		clients[i] = c
		// Masters with the same epoch may compete for slots.
		if err := c.Do(ctx, "cluster", "set-config-epoch", i+1).Err(); err != nil {
			tb.Fatal(err)
		}
		if i >= masters {
			cluster.Replicas = append(cluster.Replicas, s)
			continue
		}
		cluster.Masters = append(cluster.Masters, s)
		if err := c.ClusterAddSlotsRange(ctx, i*slots/masters, (i+1)*slots/masters-1).Err(); err != nil {
			tb.Fatal(err)
		}
	}
	await := func(c *redis.Client, formed func() bool) {
		tb.Helper()
		poll(ctx, tb, formed, func() string { return "the cluster does not form:\n" + c.ClusterNodes(tb.Context()).Val() })
	}
	host, port, _ := strings.Cut(cluster.Masters[0].Addr(), ":")
	await(clients[0], func() bool {
		formed := true
		for i, c := range clients {
			// A node forgets a handshake that took too long.
			if i > 0 && strings.Count(c.ClusterNodes(ctx).Val(), "\n") == 1 {
				c.ClusterMeet(ctx, host, port)
			}
			formed = agrees(ctx, c, n) && formed
		}
		return formed
	})
	for i, c := range clients[masters:] {
		if err := c.ClusterReplicate(ctx, nodeID(ctx, tb, cluster.Masters[i%masters])).Err(); err != nil {
			tb.Fatal(err)
		}
	}
	for _, c := range clients[masters:] {
		await(c, func() bool { return inSync(ctx, c) })
	}
	for _, c := range clients {
		// Only masters with slots vote, and a voter must know the replica.
		await(c, func() bool { return strings.Count(c.ClusterNodes(ctx).Val(), "slave ") == replicas })
	}
	return cluster
}

func poll(ctx context.Context, tb testing.TB, cond func() bool, failure func() string) {
	tb.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			tb.Fatal(failure())
		}
	}
}

func nodeID(ctx context.Context, tb testing.TB, s *Server) string {
	tb.Helper()
	id, err := s.Client(tb).Do(ctx, "cluster", "myid").Text()
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// inSync reports whether the server is a replica that has all data of its master.
func inSync(ctx context.Context, c *redis.Client) bool {
	return strings.Contains(c.Info(ctx, "replication").Val(), "master_link_status:up")
}

// agrees reports whether the server knows all n nodes and the owner of every slot.
func agrees(ctx context.Context, c *redis.Client, n int) bool {
	info := c.ClusterInfo(ctx).Val()
	nodes := c.ClusterNodes(ctx).Val()
	return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_assigned:16384") &&
		strings.Count(nodes, " connected") == n && !strings.Contains(nodes, "handshake")
}

// ClusterClient returns a client of the cluster with the given masters, and closes it
// when the test ends.
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
