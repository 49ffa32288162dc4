package rediskit

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Exec executes the pipeline. Afterwards every command of it has its own error or a
// reply. If the server refuses the connection, for example because of a wrong
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
