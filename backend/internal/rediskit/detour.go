package rediskit

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// detour is a hook that sends each [Cmd] that its client cannot send over another one.
type detour struct {
	limit time.Duration // for getting a connection of the client
	other redis.UniversalClient
}

func (*detour) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d *detour) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		limited, cancel := d.limited(ctx)
		err := next(limited, cmd)
		cancel()
		if err != nil && unsent(cmd) {
			err = d.other.Process(ctx, cmd)
		}
		return err
	}
}

func (d *detour) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		limited, cancel := d.limited(ctx)
		err := next(limited, cmds)
		cancel()
		if err == nil {
			return nil
		}
		pipe := d.other.Pipeline()
		for _, cmd := range cmds {
			if unsent(cmd) {
				cmd.SetErr(nil) // go-redis does not replace the error of a command
				_ = pipe.Process(ctx, cmd)
			}
		}
		if pipe.Len() > 0 {
			_, err = pipe.Exec(ctx)
		}
		return err
	}
}

// limited returns a context that leaves time for the other client.
func (d *detour) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := d.limit
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)/2)
	}
	return context.WithTimeout(ctx, limit)
}

func unsent(cmd redis.Cmder) bool {
	c, ok := cmd.(*Cmd)
	return ok && c.Sent() == 0
}
