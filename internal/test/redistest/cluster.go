package redistest

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/test/child"
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
	ctx := tb.Context()
	var all []*Server
	for i := range masters + replicas {
		s := Start(tb, "--cluster-enabled", "yes",
			"--cluster-node-timeout", strconv.FormatInt(timeout.Milliseconds(), 10),
			"--cluster-require-full-coverage", "no",
			"--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0")
		all = append(all, s)
		// Masters with the same epoch may compete for slots.
		must(tb, s.admin().Do(ctx, "cluster", "set-config-epoch", i+1).Err())
		if i < masters {
			must(tb, s.admin().ClusterAddSlotsRange(ctx, i*slots/masters, (i+1)*slots/masters-1).Err())
		}
	}
	cluster := &Cluster{Masters: all[:masters:masters], Replicas: all[masters:]}
	nodes := func(s *Server) string { return s.admin().ClusterNodes(ctx).Val() }
	host, port, _ := strings.Cut(all[0].Addr(), ":")
	child.Await(tb, "the cluster forms", func() bool {
		formed := true
		for i, s := range all {
			// A node forgets a handshake that took too long.
			if i > 0 && strings.Count(nodes(s), "\n") == 1 {
				s.admin().ClusterMeet(ctx, host, port)
			}
			info := s.admin().ClusterInfo(ctx).Val()
			formed = strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_assigned:16384") &&
				strings.Count(nodes(s), " connected") == len(all) && !strings.Contains(nodes(s), "handshake") && formed
		}
		return formed
	})
	for i, s := range cluster.Replicas {
		must(tb, s.admin().ClusterReplicate(ctx, cluster.Masters[i%masters].nodeID(tb)).Err())
	}
	for _, s := range cluster.Replicas {
		s.awaitSync(tb)
	}
	for _, s := range all {
		// Only masters with slots vote, and a voter must know the replica.
		child.Await(tb, "all know the replicas", func() bool { return strings.Count(nodes(s), "slave ") == replicas })
	}
	return cluster
}

func (s *Server) nodeID(tb testing.TB) string {
	tb.Helper()
	id, err := s.admin().Do(tb.Context(), "cluster", "myid").Text()
	must(tb, err)
	return id
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
