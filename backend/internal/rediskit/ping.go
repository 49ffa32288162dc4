package rediskit

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Ping returns nil if the server answers this user and, if the user may run INFO, is not a
// replica.
func Ping(ctx context.Context, master redis.UniversalClient) error {
	pipe := master.Pipeline()
	pong, info := pipe.Ping(ctx), pipe.Info(ctx, "replication")
	Exec(ctx, pipe)
	switch {
	case redis.HasErrorPrefix(pong.Err(), "NOPERM"): // it answers
		return nil
	case pong.Err() != nil:
		return pong.Err()
	case strings.Contains(info.Val(), "role:slave"):
		return replicaError{}
	default:
		return nil
	}
}

// replicaError is what a replica would answer to a command that writes.
type replicaError struct{}

// Error implements error.
func (replicaError) Error() string { return "READONLY the server is a replica" }

// RedisError marks the error as one that the server sent.
func (replicaError) RedisError() {}
