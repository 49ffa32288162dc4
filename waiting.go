package distlock

import (
	"context"
	"sync"
	"time"
)

const (
	// firstReport is how long a caller waits before the hook Waiting is told. Shorter waits are
	// no news.
	firstReport = time.Second

	// longestPause limits the time between two calls of the hook, which doubles until then.
	longestPause = time.Minute
)

// waitReport calls the hook Waiting for one acquisition. It has a timer and no goroutine,
// except during a call. A nil waitReport does nothing.
type waitReport struct {
	engine    *engine
	ctx       context.Context //nolint:containedctx // of Start, for the hook
	key       string
	opts      Opts
	begun     time.Time   // the call
	candidate bool        // of Lead
	timer     *time.Timer // calls due

	mu     sync.Mutex
	ticket uint64        // in the queue of this process, or its last there
	call   chan struct{} // of the hook: closed when it has returned
	fired  bool          // due was called when the wait ended, and may not have returned
	over   bool          // the wait has ended
}

// queued says that the caller waits in the queue of this process from now on.
func (r *waitReport) queued(ticket uint64) {
	if r != nil {
		r.mu.Lock()
		r.ticket = ticket
		r.mu.Unlock()
	}
}

// end ends the report, which must not be used again: the hook is not called after it. Most
// acquisitions do not wait for long: their reports are kept for others, so that they cost no
// memory.
func (r *waitReport) end() {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.over, r.fired = true, !r.timer.Stop()
	call := r.call
	r.mu.Unlock()
	switch {
	case call != nil:
		<-call
	case !r.fired: // nobody else has it
		*r = waitReport{engine: r.engine, timer: r.timer}
		r.engine.reports.Put(r)
	}
}

// due is called when it is time to tell the hook.
func (r *waitReport) due() {
	r.mu.Lock()
	if r.over {
		r.mu.Unlock()
		return
	}
	call, ticket := make(chan struct{}), r.ticket
	r.call = call
	r.mu.Unlock()
	defer close(call)

	eng := r.engine
	e := newEvent(Waiting, r.key, &r.opts)
	e.Leader, e.Wait, e.Err = r.candidate, time.Since(r.begun), eng.busyErr(r.key)
	e.Place, e.Waiters = eng.queue.Place(r.key, ticket)
	if eng.leases.holder(r.key) == nil {
		e.Waiters++ // the caller that asks the store
	}
	eng.cfg.Hooks.Event(r.ctx, e)

	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.timer.Reset(min(e.Wait, longestPause))
	}
}
