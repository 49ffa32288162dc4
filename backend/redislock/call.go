package redislock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// errNoAnswer is not a context error: the caller's context is still alive.
var errNoAnswer = errors.New("redislock: no answer within the operation timeout")

const (
	// A server whose last answer took no longer than this is prompt.
	promptAnswer = 10 * time.Millisecond

	// What a prompt server is given on the caller's own goroutine.
	shortLimit = 50 * time.Millisecond
)

// calls carries out network operations, each of which returns when it is done,
// when its context ends or when the limit has passed, whichever is first.
//
// The client cannot be trusted with that: by default go-redis heeds no deadline
// while it waits for a reply, and it never heeds a cancellation there. So an
// operation runs on a goroutine that is not the caller's, and is left behind if
// it is late. Its context has ended then, which stops it before it tries again;
// an attempt that is on its way ends with the client's own read timeout, and may
// still be applied.
//
// On a small machine, handing an operation to another goroutine and back costs
// as much as the operation. So one that is alone, to a server that is prompt,
// runs on its caller's goroutine, through a copy of the client with short
// timeouts. If that gets no answer, the operation is sent again in the safe way,
// so it must be one that may be sent twice. Its caller may overstay its context
// by the short limit; the next one does not, because the server is not prompt any
// more.
type calls struct {
	client  redis.UniversalClient
	limit   time.Duration
	workers *workers

	short    func() redis.UniversalClient // nil if there is no such copy
	underWay atomic.Int32                 // includes what was left behind
	prompt   atomic.Bool
}

func newCalls(client redis.UniversalClient, limit time.Duration, w *workers) *calls {
	c := &calls{client: client, limit: limit, workers: w}
	if plain, ok := client.(*redis.Client); ok && limit > shortLimit {
		// Made when it is first needed, to have the client's hooks.
		c.short = sync.OnceValue(func() redis.UniversalClient { return plain.WithTimeout(shortLimit) })
	}
	return c
}

// operation must use the context and the client that it is given, and share
// nothing with its caller that either may write to.
type operation[T any] func(context.Context, redis.UniversalClient) (T, error)

// How often an operation may be sent.
const (
	once  = false
	twice = true
)

// call runs op. It also reports whether all that was sent was answered: if not,
// some of it may still be applied.
func call[T any](ctx context.Context, c *calls, repeatable bool, op operation[T]) (v T, sure bool, err error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, true, err
	}
	sure = true
	if c.underWay.Add(1) == 1 && repeatable && c.short != nil && c.prompt.Load() {
		v, err := limited(ctx, c, shortLimit, c.short(), op)
		if answered(err) {
			c.underWay.Add(-1)
			return v, true, err
		}
		sure = false
		if err := ctx.Err(); err != nil {
			c.underWay.Add(-1)
			return none, false, err
		}
	}

	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1) // room for an answer that nobody waits for
	waiting, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	c.workers.run(func() {
		v, err := timed(waiting, c, c.client, op)
		c.underWay.Add(-1)
		answers <- answer{v, err}
	})

	select {
	case a := <-answers:
		return a.value, sure && answered(a.err), ownError(ctx, a.err)
	case <-waiting.Done():
		return none, false, ownError(ctx, waiting.Err())
	}
}

// limited runs op on this goroutine.
func limited[T any](ctx context.Context, c *calls, limit time.Duration, client redis.UniversalClient, op operation[T]) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return timed(ctx, c, client, op)
}

// timed runs op and remembers whether the answer was prompt.
func timed[T any](ctx context.Context, c *calls, client redis.UniversalClient, op operation[T]) (T, error) {
	start := time.Now()
	v, err := op(ctx, client)
	if prompt := answered(err) && time.Since(start) <= promptAnswer; c.prompt.Load() != prompt {
		c.prompt.Store(prompt)
	}
	return v, err
}

// answered reports whether an operation that returned err was answered by the
// server, be it with an error.
func answered(err error) bool {
	if err == nil {
		return true
	}
	var reply redis.Error
	return errors.As(err, &reply)
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
