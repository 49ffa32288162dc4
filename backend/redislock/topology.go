package redislock

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
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

// calls are the ways to the servers.
type calls struct {
	own    *rediskit.OwnPool // for what is done with locks
	looks  *rediskit.OwnPool // for what looks at them
	limit  time.Duration     // of an operation
	server *rediskit.Server  // the server that errors name first

	background *rediskit.Background
}

// call runs op over the connections of observers. Errors name the first server of
// the client.
func call[T any](ctx context.Context, c *calls, op func(context.Context, redis.UniversalClient) (T, error)) (T, error) {
	return rediskit.Operate(ctx, c.server, c.looks.Client(), op)
}
