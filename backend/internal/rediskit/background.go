package rediskit

import (
	"context"
	"sync"
	"time"
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
	bg.wg.Go(func() {
		defer Recover(new(error))
		f(bg.ctx)
	})
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
