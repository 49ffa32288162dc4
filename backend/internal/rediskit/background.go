package rediskit

import (
	"context"
	"sync"
	"time"
)

// Background owns the goroutines that live longer than the call that started
// them, and ends them.
type Background struct {
	ctx    context.Context //nolint:containedctx // of the goroutines, not of a call
	cancel context.CancelFunc

	mu    sync.Mutex
	ended bool
	wg    sync.WaitGroup
}

// NewBackground returns a Background that owns nothing yet.
func NewBackground() *Background {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // no caller's: it outlives them
	return &Background{ctx: ctx, cancel: cancel}
}

// Done is closed when the goroutines shall end.
func (bg *Background) Done() <-chan struct{} { return bg.ctx.Done() }

// Run starts f, which must return when its context ends. After End it does
// nothing and returns false.
func (bg *Background) Run(f func(context.Context)) bool {
	bg.mu.Lock()
	defer bg.mu.Unlock()
	if !bg.ended {
		bg.wg.Go(func() { f(bg.ctx) })
	}
	return !bg.ended
}

// Enter counts an operation that End waits for. The caller calls what it returns
// when the operation is over.
func (bg *Background) Enter() (leave func()) {
	bg.mu.Lock()
	defer bg.mu.Unlock()
	if bg.ended {
		return func() {}
	}
	bg.wg.Add(1)
	return bg.wg.Done
}

// End stops all goroutines and waits for them and for the operations under way,
// but no longer than limit: a client that is stuck holds them until its own
// timeouts. Calling it again does nothing.
func (bg *Background) End(limit time.Duration) {
	bg.mu.Lock()
	again := bg.ended
	bg.ended = true
	bg.mu.Unlock()
	if again {
		return
	}
	bg.cancel()

	done := make(chan struct{})
	go func() {
		bg.wg.Wait()
		close(done)
	}()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}
