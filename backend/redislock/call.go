package redislock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// calls runs network operations. An operation returns when it is done, when its context
// ends or when the limit has passed. It runs on a goroutine of its own, which is
// abandoned if it is late: dispatcher explains why.
type calls struct {
	own    *rediskit.OwnPool // for what is done with locks
	looks  *rediskit.OwnPool // for what looks at them
	limit  time.Duration
	server *rediskit.Server // the server that errors name first

	background *rediskit.Background
}

// diagnose finds out why the server does not answer. If it is called when half of the
// limit has passed, it has the reason before all of the limit has passed.
func (c *calls) diagnose(s *rediskit.Server) { s.Ask(c.limit / 4) }

// An operation must use the context and the client that it is given. It must not share
// anything with its caller that one of them writes to.
type operation[T any] func(context.Context, redis.UniversalClient) (T, error)

// call runs op over the connections of observers. Errors name the first server of
// the client.
func call[T any](ctx context.Context, c *calls, op operation[T]) (T, error) {
	return callAt(ctx, c, c.server, c.looks.Client(), op)
}

// callAt runs op with the client. Errors name the given server.
func callAt[T any](ctx context.Context, c *calls, s *rediskit.Server, client redis.UniversalClient, op operation[T]) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1) // room for an answer that is not waited for
	waiting, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	diagnosis := time.AfterFunc(c.limit/2, func() { c.diagnose(s) })
	defer diagnosis.Stop()
	go func() {
		v, err := op(waiting, client)
		s.Leave(client, "", err)
		if rediskit.Unexplained(err) {
			c.diagnose(s)
			err = s.NoAnswer(err, c.limit)
		}
		answers <- answer{v, err}
	}()
	select {
	case a := <-answers:
		return a.value, s.ForCaller(ctx, a.err, c.limit)
	case <-waiting.Done():
		return none, s.ForCaller(ctx, waiting.Err(), c.limit)
	}
}
