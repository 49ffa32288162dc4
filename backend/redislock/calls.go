package redislock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

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
