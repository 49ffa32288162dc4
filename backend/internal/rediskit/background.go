package rediskit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Background owns the goroutines that outlive the call that started them.
type Background struct {
	ctx    context.Context //nolint:containedctx // the context of the goroutines, not of a call
	cancel context.CancelFunc

	mu sync.Mutex // orders End and the others
	wg sync.WaitGroup
}

// NewBackground returns a Background without goroutines.
func NewBackground() *Background {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // it outlives all callers
	return &Background{ctx: ctx, cancel: cancel}
}

// Done returns a channel that is closed when the goroutines must end.
func (bg *Background) Done() <-chan struct{} { return bg.ctx.Done() }

// Ended reports whether the goroutines must end.
func (bg *Background) Ended() bool { return bg.ctx.Err() != nil }

// Run starts f, which must return when its context ends. After End it does
// nothing and returns false.
func (bg *Background) Run(f func(context.Context)) bool {
	bg.mu.Lock()
	defer bg.mu.Unlock()
	if bg.Ended() {
		return false
	}
	bg.wg.Go(func() { f(bg.ctx) })
	return true
}

// Enter begins an operation that End waits for. The caller calls leave when the
// operation is over.
func (bg *Background) Enter() (leave func()) {
	bg.mu.Lock()
	defer bg.mu.Unlock()
	if bg.Ended() {
		return func() {}
	}
	bg.wg.Add(1)
	return bg.wg.Done
}

// End ends all goroutines. It waits for them and for the operations in flight, but no
// longer than limit: a client that hangs holds them until its own timeouts. A second
// End does nothing.
func (bg *Background) End(limit time.Duration) {
	bg.mu.Lock()
	again := bg.Ended()
	bg.cancel()
	bg.mu.Unlock()
	if again {
		return
	}
	done := make(chan struct{})
	go func() {
		bg.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

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
	type answer struct {
		value T
		err   error
	}
	limited, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	diagnosis := time.AfterFunc(s.limit/2, s.Diagnose)
	defer diagnosis.Stop()
	answers := make(chan answer, 1)
	Call(limited, s.background, func(ctx context.Context) (T, error) {
		v, err := op(ctx, client)
		s.Leave(client, "", err)
		return v, s.Unanswered(err)
	}, func(v T, err error) { answers <- answer{v, err} })
	a := <-answers
	return a.value, s.ForCaller(ctx, a.err)
}

// Call runs op on another goroutine and calls done once: with the result of op or, if
// ctx ends first, with the error of ctx. It never blocks.
//
// If ctx ends first, op is abandoned: it goes on, may still take effect, and its result
// is dropped. So op must use the context that it gets, and must not share anything with
// the caller that either may write to. The End of bg waits for op.
func Call[T any](ctx context.Context, bg *Background, op func(context.Context) (T, error), done func(T, error)) {
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
	leave := bg.Enter()
	go func() {
		defer leave()
		v, err := op(ctx)
		stop()
		finish(v, err)
	}()
}
