package zklock

import (
	"context"
	"sync"
	"time"
)

// retryPause is the wait before a background task tries again.
const retryPause = 100 * time.Millisecond

// background runs the tasks of a Backend that belong to no call. They end when the
// Backend is closed.
type background struct {
	ctx    context.Context //nolint:containedctx // the context of the tasks
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	stopped bool
	tasks   sync.WaitGroup
}

func newBackground() *background {
	bg := &background{}
	bg.ctx, bg.cancel = context.WithCancelCause(context.Background()) //nolint:forbidigo // belongs to no call: ended by stop
	return bg
}

// run runs f on a goroutine. After stop it does nothing: the session has ended, and its
// nodes with it.
func (bg *background) run(f func()) {
	bg.mu.Lock()
	defer bg.mu.Unlock()
	if !bg.stopped {
		bg.tasks.Go(f)
	}
}

// retry calls f until it succeeds or stop is called.
func (bg *background) retry(f func(ctx context.Context) error) {
	for bg.ctx.Err() == nil {
		if f(bg.ctx) == nil {
			return
		}
		t := time.NewTimer(retryPause)
		select {
		case <-t.C:
		case <-bg.ctx.Done():
			t.Stop()
		}
	}
}

// stop cancels the tasks. It reports whether this is the first call.
func (bg *background) stop(cause error) bool {
	bg.mu.Lock()
	defer bg.mu.Unlock()
	if bg.stopped {
		return false
	}
	bg.stopped = true
	bg.cancel(cause)
	return true
}

// wait returns when all tasks have ended.
func (bg *background) wait() { bg.tasks.Wait() }
