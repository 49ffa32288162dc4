package redislock

import (
	"context"
	"sync"
	"time"
)

// background owns the goroutines that live longer than the call that started
// them, and ends them.
type background struct {
	ctx    context.Context //nolint:containedctx // of the goroutines, not of a call
	cancel context.CancelFunc

	mu    sync.Mutex
	ended bool
	wg    sync.WaitGroup
}

func newBackground() *background {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // no caller's: it outlives them
	return &background{ctx: ctx, cancel: cancel}
}

// run starts f, which must return when its context ends. After end it does
// nothing.
func (bg *background) run(f func(context.Context)) {
	bg.mu.Lock()
	defer bg.mu.Unlock()
	if !bg.ended {
		bg.wg.Go(func() { f(bg.ctx) })
	}
}

// end stops all goroutines and waits for them, but no longer than limit: a
// client that is stuck holds them until its own timeouts.
func (bg *background) end(limit time.Duration) {
	bg.mu.Lock()
	bg.ended = true
	bg.mu.Unlock()
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
