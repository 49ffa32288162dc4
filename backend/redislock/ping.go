package redislock

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

var _ driver.Pinger = (*Backend)(nil)

// Ping asks every server that keeps keys: the single server, the master that Sentinel
// names, all masters of a Cluster, or all shards of a Ring that are up. One round trip
// shows that the server answers this user and, if the user may run INFO, that it is not
// a replica. Ping does not notice that the memory of a server is full, or that a slot
// of a Cluster has no master. It takes at most the operation timeout, or twice as long
// if it asks a Cluster for its masters first. If several servers fail, it returns one
// of the errors.
func (b *Backend) Ping(ctx context.Context) error {
	masters, err := b.topology.masters(ctx, b.calls)
	if err != nil {
		return err
	}
	if len(masters) == 0 {
		return b.calls.server.Explain(errors.New("no server is known that has keys"))
	}
	errs := make([]error, len(masters))
	var all sync.WaitGroup
	for i, master := range masters {
		server := b.calls.server
		if plain, ok := master.(*redis.Client); ok && master != b.calls.client {
			server = b.dispatcher.siteFor(plain).server
		}
		all.Go(func() {
			_, errs[i] = callAt(ctx, b.calls, server, master, func(ctx context.Context, c redis.UniversalClient) (struct{}, error) {
				return struct{}{}, rediskit.Ping(ctx, c)
			})
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
