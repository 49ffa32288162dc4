package redislock

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/firstuse"
)

// topology knows on which servers the client keeps keys.
type topology struct {
	client  redis.UniversalClient
	clock   string
	asked   *firstuse.Check // whether it is one server: see checkServer
	slotted *atomic.Bool    // keys are in slots: in a Cluster
}

func newTopology(client redis.UniversalClient, clock string) topology {
	t := topology{client: client, clock: clock, asked: firstuse.New(), slotted: new(atomic.Bool)}
	_, cluster := client.(*redis.ClusterClient)
	t.slotted.Store(cluster)
	return t
}

// multiKey reports whether one script may have the keys of several locks.
func (t topology) multiKey() bool { return t.asked.Done() && !t.slotted.Load() }

// foundSlots is called when a server has refused a script because its keys are in
// several slots: the client is for one server, but that is part of a Cluster.
func (t topology) foundSlots() { t.slotted.Store(true) }

// clockFor returns the key of the clock for a lock.
func (t topology) clockFor(key string) string {
	if t.slotted.Load() {
		return slotClock(t.clock, key)
	}
	return t.clock
}

// finder returns a function that returns the client of a key's server. The first call
// of that function may have to ask a server. It is nil if there is one server, or if
// the client does not tell.
func (t topology) finder() func(ctx context.Context, key string) (*redis.Client, error) {
	switch c := t.client.(type) {
	case *redis.ClusterClient:
		return c.MasterForKey
	case *redis.Ring:
		return func(_ context.Context, key string) (*redis.Client, error) { return c.GetShardClientForKey(key) }
	default:
		return nil
	}
}

// masters returns a client for each server that keeps keys of its own.
func (t topology) masters(ctx context.Context, c *calls) ([]redis.UniversalClient, error) {
	var each func(context.Context, func(context.Context, *redis.Client) error) error
	switch c := t.client.(type) {
	case *redis.ClusterClient:
		each = c.ForEachMaster
	case *redis.Ring:
		each = c.ForEachShard
	default:
		return []redis.UniversalClient{t.client}, nil
	}
	// The first call asks the Cluster.
	return call(ctx, c, func(ctx context.Context, _ redis.UniversalClient) ([]redis.UniversalClient, error) {
		var mu sync.Mutex
		var masters []redis.UniversalClient
		err := each(ctx, func(_ context.Context, master *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			masters = append(masters, master)
			return nil
		})
		return masters, err
	})
}

// groupByServer splits the grants with the given indices by their server, so that a
// server that does not answer delays no grants of another. The result may be wrong: a
// pipeline follows redirections.
func (t topology) groupByServer(ctx context.Context, calls *calls, grants []driver.Grant, indices []int) [][]int {
	find := t.finder()
	if find == nil {
		return [][]int{indices}
	}

	// The first call asks the Cluster.
	groups, err := call(ctx, calls, func(ctx context.Context, _ redis.UniversalClient) ([][]int, error) {
		groupOf := make(map[*redis.Client]int)
		var groups [][]int
		for _, i := range indices {
			server, err := find(ctx, grants[i].Key)
			if err != nil {
				return nil, err
			}
			g, ok := groupOf[server]
			if !ok {
				g = len(groups)
				groupOf[server] = g
				groups = append(groups, nil)
			}
			groups[g] = append(groups[g], i)
		}
		return groups, nil
	})
	if err != nil {
		return [][]int{indices}
	}
	return groups
}
