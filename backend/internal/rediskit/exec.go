package rediskit

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Exec executes the pipeline. Afterwards each command has a reply or its own error. If the server refuses the connection, for example because of a wrong
// password, go-redis alone sets neither.
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
