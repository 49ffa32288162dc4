package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// calls carries out network operations, each of which returns when it is done,
// when its context ends or when the limit has passed, whichever is first: on a
// goroutine that is not the caller's, and that is left behind if it is late. See
// fleet for why.
type calls struct {
	client  redis.UniversalClient
	limit   time.Duration
	workers *rediskit.Workers
	server  *rediskit.Server // the server that errors name first

	background *rediskit.Background
}

// noAnswer is the error of an operation that the server has not answered in time. It is
// not a context error: the caller's context is still alive.
func (c *calls) noAnswer(s *rediskit.Server) error {
	return s.NoAnswer(fmt.Errorf("no answer within the operation timeout of %v", c.limit), 2*c.limit)
}

// ask finds out why the server does not answer. If it is called when half of the limit
// has passed, it has the reason when all of the limit has passed.
func (c *calls) ask(s *rediskit.Server) { s.Ask(c.limit / 4) }

// unclear reports whether err says that there was no answer, but not the reason: for
// example, a server closes the connection of a client that it does not accept.
func unclear(err error) bool {
	return !rediskit.Answered(err) && !rediskit.Dialled(err) && !errors.Is(err, redis.ErrClosed) &&
		!errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}

// operation must use the context and the client that it is given, and share
// nothing with its caller that either may write to.
type operation[T any] func(context.Context, redis.UniversalClient) (T, error)

// call runs op.
func call[T any](ctx context.Context, c *calls, op operation[T]) (T, error) {
	return callAt(ctx, c, c.server, op)
}

// callAt runs op on the given server.
func callAt[T any](ctx context.Context, c *calls, s *rediskit.Server, op operation[T]) (T, error) {
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
	asking := time.AfterFunc(c.limit/2, func() { c.ask(s) })
	defer asking.Stop()
	c.workers.Run(func() {
		v, err := op(waiting, c.client)
		if unclear(err) {
			c.ask(s)
			err = s.NoAnswer(err, c.limit)
		}
		answers <- answer{v, err}
	})
	select {
	case a := <-answers:
		return a.value, c.ownError(ctx, s, a.err)
	case <-waiting.Done():
		return none, c.ownError(ctx, s, waiting.Err())
	}
}

// ownError replaces errors of the operation's context, which callers do not
// know, by errors of the caller's context, and adds the server to other errors.
func (c *calls) ownError(ctx context.Context, s *rediskit.Server, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return s.Explain(err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return c.noAnswer(s)
}
