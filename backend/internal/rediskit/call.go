package rediskit

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/background"
)

// Operate runs op with the client on another goroutine, for at most the limit of the
// server. If ctx or the limit ends first, op is abandoned: see [Call]. Errors name the server, and
// the reason if there was no answer.
func Operate[T any](
	ctx context.Context, s *Server, client redis.UniversalClient, op func(context.Context, redis.UniversalClient) (T, error),
) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	limited, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	diagnosis := time.AfterFunc(s.limit/2, s.Diagnose)
	defer diagnosis.Stop()
	var value T
	var err error
	answered := make(chan struct{})
	Call(limited, s.background, func(ctx context.Context) (T, error) {
		v, err := op(ctx, client)
		s.Leave(client, "", err)
		return v, s.Unanswered(err)
	}, func(v T, failed error) { value, err = v, failed; close(answered) })
	<-answered
	return value, s.ForCaller(ctx, err)
}

// Call runs op on another goroutine and calls done once: with the result of op or, if
// ctx ends first, with the error of ctx. It never blocks.
//
// If ctx ends first, op is abandoned: it goes on, may still take effect, and its result
// is dropped. So op must use the context that it gets, and must not share anything with
// the caller that either may write to. The End of work waits for op.
func Call[T any](ctx context.Context, work *background.Work, op func(context.Context) (T, error), done func(T, error)) {
	var over atomic.Bool
	finish := func(v T, err error) {
		if !over.Swap(true) {
			done(v, err)
		}
	}
	stop := context.AfterFunc(ctx, func() {
		var none T
		finish(none, ctx.Err())
	})
	leave := work.Enter()
	go func() {
		defer leave()
		v, err := func() (_ T, err error) {
			defer Recover(&err)
			return op(ctx)
		}()
		stop()
		finish(v, err)
	}()
}
