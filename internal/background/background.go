// Package background has the work of a store that outlives the call that began it.
package background

import (
	"context"
	"sync"
	"time"
)

// Work is goroutines, and operations that were abandoned. It is their context, which ends when
// the store is closed.
type Work struct {
	context.Context //nolint:containedctx // of the goroutines, not of a call

	cancel context.CancelCauseFunc
	mu     sync.Mutex // orders Close and the others
	all    sync.WaitGroup
}

// New returns a Work without goroutines.
func New() *Work {
	w := new(Work)
	w.Context, w.cancel = context.WithCancelCause(context.Background()) //nolint:forbidigo // it outlives all callers
	return w
}

// Run runs f on a goroutine. After Close it does nothing, and returns false.
func (w *Work) Run(f func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Err() != nil {
		return false
	}
	w.all.Go(f)
	return true
}

// Enter begins an operation that Wait waits for. The caller calls leave when it is over.
func (w *Work) Enter() (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Err() != nil {
		return func() {}
	}
	w.all.Add(1)
	return w.all.Done
}

// Close ends the context for a cause. It reports whether this is the first call.
func (w *Work) Close(cause error) (first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first = w.Err() == nil
	w.cancel(cause)
	return first
}

// Wait returns when all has ended.
func (w *Work) Wait() { w.all.Wait() }

// End is Close and Wait, but it waits no longer than limit: a client that hangs may hold an
// operation until its own timeouts. A second End does nothing.
func (w *Work) End(limit time.Duration) {
	if !w.Close(nil) {
		return
	}
	done := make(chan struct{})
	go func() {
		w.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}
