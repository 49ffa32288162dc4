package rediskit

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Exec executes the pipeline. Every command of it then has an error of its own, or a
// reply: to those on a connection that the server refuses, because of a wrong
// password for one, go-redis gives neither.
func Exec(ctx context.Context, pipe redis.Pipeliner) {
	cmds, err := pipe.Exec(ctx)
	if err == nil {
		return
	}
	for _, cmd := range cmds {
		if cmd.Err() != nil {
			return
		}
	}
	for _, cmd := range cmds {
		cmd.SetErr(err)
	}
}
