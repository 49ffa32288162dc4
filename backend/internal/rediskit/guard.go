package rediskit

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/background"
)

// Recover logs a panic and makes an error of it. A deferred Recover is needed where go-redis
// calls functions of the user on a goroutine of ours, where nobody else recovers: hooks, the
// Dialer, OnConnect, sources of credentials.
func Recover(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the client has panicked: %v", r)
		slog.Default().Error("distlock: a Redis client has panicked", "panic", r, "stack", string(debug.Stack()))
	}
}

// run runs f in the background, unless work was closed. A panic ends f alone.
func run(work *background.Work, f func()) bool {
	return work.Run(func() {
		defer Recover(new(error))
		f()
	})
}

// guard makes the functions for a new connection return their panics as errors. With a
// panic, go-redis would lose a place in its pool.
func guard(o *redis.Options) {
	if f := o.OnConnect; f != nil {
		o.OnConnect = func(ctx context.Context, c *redis.Conn) (err error) {
			defer Recover(&err)
			return f(ctx, c)
		}
	}
	login, plain := o.CredentialsProviderContext, o.CredentialsProvider // go-redis prefers the first
	if login != nil || plain != nil {
		o.CredentialsProviderContext = func(ctx context.Context) (user, password string, err error) {
			defer Recover(&err)
			if login != nil {
				return login(ctx)
			}
			user, password = plain()
			return user, password, nil
		}
	}
}
