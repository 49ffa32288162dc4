package redislock

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// masters returns a client for each server that has keys of its own.
func (n nodes) masters(ctx context.Context, c *calls) ([]redis.UniversalClient, error) {
	var each func(context.Context, func(context.Context, *redis.Client) error) error
	switch c := n.client.(type) {
	case *redis.ClusterClient:
		each = c.ForEachMaster
	case *redis.Ring:
		each = c.ForEachShard
	default:
		return []redis.UniversalClient{n.client}, nil
	}
	// The first time this asks the Cluster.
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
