package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

const slots = 16384

// cluster examines the Cluster that the server belongs to.
func (s *redisServer) cluster(ctx context.Context) []Finding {
	text, err := s.client.ClusterInfo(ctx).Result()
	if err != nil {
		return []Finding{unseen("cluster-state", "CLUSTER INFO", err)}
	}
	info := parseInfo(text)
	assigned, _ := strconv.Atoi(info["cluster_slots_assigned"])
	failed, _ := strconv.Atoi(info["cluster_slots_fail"])
	suspected, _ := strconv.Atoi(info["cluster_slots_pfail"])
	masters, _ := strconv.Atoi(info["cluster_size"])
	findings := []Finding{
		clusterURL(masters),
		clusterState(info["cluster_state"]),
		clusterSlots(assigned, failed, suspected, s.settings["cluster-require-full-coverage"]),
	}
	nodes, err := s.client.ClusterNodes(ctx).Result()
	if err != nil {
		return append(findings, unseen("cluster-replicas", "CLUSTER NODES", err))
	}
	return append(findings, clusterReplicas(parseNodes(nodes)))
}

// clusterURL decides on a URL that names one server of a Cluster.
func clusterURL(masters int) Finding {
	if masters <= 1 {
		return ok("cluster-url", "the Cluster has %s", count(masters, "master"))
	}
	return warning("cluster-url", fmt.Sprintf("the URL names one of %d masters, and distlock has no URL for a Cluster", masters),
		"in programs redis.NewClusterClient; this report is about one server: run it for each")
}

func clusterState(state string) Finding {
	if state == "ok" {
		return ok("cluster-state", "ok")
	}
	return fault("cluster-state", state, "redis-cli --cluster check HOST:PORT, and then fix")
}

func clusterSlots(assigned, failed, suspected int, fullCoverage string) Finding {
	missing := slots - assigned + failed
	seen := fmt.Sprintf("%d of %d slots have a master", slots-missing, slots)
	if fullCoverage != "" {
		seen += ", cluster-require-full-coverage " + fullCoverage
	}
	switch {
	case missing > 0:
		return fault("cluster-slots", seen, "redis-cli --cluster fix HOST:PORT")
	case suspected > 0:
		return warning("cluster-slots", fmt.Sprintf("%s, and the master of %d does not answer", seen, suspected), "look at CLUSTER NODES for the flag fail?")
	default:
		return ok("cluster-slots", "%s", seen)
	}
}

// parseNodes returns the number of healthy replicas for each master with slots, in the
// text of CLUSTER NODES.
func parseNodes(text string) map[string]int {
	type node struct{ addr, master string }
	var nodes []node
	masters := make(map[string]string) // ID to address
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 8 {
			continue
		}
		id, flags := f[0], ","+f[2]+","
		addr, _, _ := strings.Cut(f[1], "@")
		switch {
		case strings.Contains(flags, ",master,") && len(f) > 8:
			masters[id] = addr
		case strings.Contains(flags, ",slave,") && !strings.Contains(flags, ",fail"):
			nodes = append(nodes, node{addr, f[3]})
		}
	}
	replicas := make(map[string]int)
	for _, addr := range masters {
		replicas[addr] = 0
	}
	for _, n := range nodes {
		if addr, has := masters[n.master]; has {
			replicas[addr]++
		}
	}
	return replicas
}

func clusterReplicas(replicas map[string]int) Finding {
	var without int
	for _, n := range replicas {
		if n == 0 {
			without++
		}
	}
	if without > 0 {
		return note("cluster-replicas", fmt.Sprintf("%d of %s have no replica", without, count(len(replicas), "master")), "redis-cli --cluster add-node HOST:PORT HOST:PORT --cluster-slave")
	}
	return ok("cluster-replicas", "each of %s has one", count(len(replicas), "master"))
}
