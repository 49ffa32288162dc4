package rediskit

import (
	"context"
	"sync/atomic"
)

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
	bg.Go(func() {
		defer leave()
		v, err := op(ctx)
		stop()
		finish(v, err)
	})
}
