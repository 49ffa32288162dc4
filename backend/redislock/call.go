package redislock

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// errNoAnswer is not a context error: the caller's context is still alive.
var errNoAnswer = errors.New("redislock: no answer within the operation timeout")

// calls carries out network operations, each of which returns when it is done,
// when its context ends or when the limit has passed, whichever is first: on a
// goroutine that is not the caller's, and that is left behind if it is late. See
// fleet for why.
type calls struct {
	client  redis.UniversalClient
	limit   time.Duration
	workers *rediskit.Workers
}

// operation must use the context and the client that it is given, and share
// nothing with its caller that either may write to.
type operation[T any] func(context.Context, redis.UniversalClient) (T, error)

// call runs op.
func call[T any](ctx context.Context, c *calls, op operation[T]) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1) // room for an answer that nobody waits for
	waiting, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	c.workers.Run(func() {
		v, err := op(waiting, c.client)
		answers <- answer{v, err}
	})
	select {
	case a := <-answers:
		return a.value, ownError(ctx, a.err)
	case <-waiting.Done():
		return none, ownError(ctx, waiting.Err())
	}
}

// ownError replaces errors of the operation's context, which callers do not
// know, by those of the caller's.
func ownError(ctx context.Context, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errNoAnswer
}
