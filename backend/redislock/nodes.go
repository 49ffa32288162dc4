package redislock

import (
	"context"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/driver"
)

// nodes knows how the keys are spread over servers, as far as renewal has to
// know: which locks can go into one script, and which may share a pipeline.
type nodes struct {
	client redis.UniversalClient
	single *atomic.Bool // all keys can go into one script
}

func newNodes(client redis.UniversalClient) nodes {
	n := nodes{client: client, single: new(atomic.Bool)}
	// Only of a plain client it is known. Wrappers hide what is behind them.
	_, plain := client.(*redis.Client)
	n.single.Store(plain)
	return n
}

// together reports whether one script may have the keys of many locks.
func (n nodes) together() bool { return n.single.Load() }

// separate is called when that turned out to be wrong.
func (n nodes) separate() { n.single.Store(false) }

// server returns what finds the server of a key, or nil if there is but one, or
// nobody knows. The first time it may have to ask the servers.
func (n nodes) server() func(ctx context.Context, key string) (*redis.Client, error) {
	switch c := n.client.(type) {
	case *redis.ClusterClient:
		return c.MasterForKey
	case *redis.Ring:
		return func(_ context.Context, key string) (*redis.Client, error) { return c.GetShardClientForKey(key) }
	default:
		return nil
	}
}

// silent is called when a server did not answer. A Cluster may have put another in
// its place, which go-redis learns by redirections, or once a minute; but nobody
// redirects from a server that is dead. This asks the others, in the background,
// and no more than five times a second.
func (n nodes) silent() {
	if c, ok := n.client.(*redis.ClusterClient); ok {
		c.ReloadState(context.Background()) //nolint:forbidigo // of no call: it is not used
	}
}

// group splits the grants that picked lists by the server that has them, so that
// one that hangs delays no others. It need not be right: a pipeline follows
// redirections.
func (n nodes) group(ctx context.Context, calls *calls, grants []driver.Grant, picked []int) [][]int {
	server := n.server()
	if server == nil {
		return [][]int{picked}
	}

	// The first time this asks the Cluster.
	groups, err := call(ctx, calls, func(ctx context.Context, _ redis.UniversalClient) ([][]int, error) {
		at := make(map[*redis.Client]int)
		var groups [][]int
		for _, i := range picked {
			s, err := server(ctx, grants[i].Key)
			if err != nil {
				return nil, err
			}
			g, ok := at[s]
			if !ok {
				g = len(groups)
				at[s] = g
				groups = append(groups, nil)
			}
			groups[g] = append(groups[g], i)
		}
		return groups, nil
	})
	if err != nil {
		return [][]int{picked}
	}
	return groups
}
