package distlock

import (
	"context"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
)

const (
	// firstReport is how long a caller waits before the hook Waiting is told. Shorter waits are
	// no news, and the store is not asked about them.
	firstReport = time.Second

	// longestPause limits the time between two calls of the hook, which doubles until then.
	longestPause = time.Minute

	// lookTimeout limits a look at the key in the store.
	lookTimeout = 2 * time.Second
)

// waitReport calls the hook Waiting for one acquisition. It has a timer and no goroutine,
// except during a call: a caller that waits in the store's queue cannot call a hook itself. A
// nil waitReport does nothing.
type waitReport struct {
	locker    *Locker
	ctx       context.Context //nolint:containedctx // of Start, for the hook
	key       string
	opts      Opts
	begun     time.Time   // the call
	candidate bool        // of Lead
	timer     *time.Timer // calls due

	mu     sync.Mutex
	ticket uint64             // in the queue of this process, or the one that it had there
	owner  string             // in the store's queue; "": it is not there
	cancel context.CancelFunc // of the last look; nil before the first
	told   bool               // the other waiters of this process, of what a look has shown
	call   chan struct{}      // of the hook: closed when it has returned
	fired  bool               // due was called when the wait ended, and may not have returned
	over   bool               // the wait has ended
}

// reportWait returns the report of an acquisition that may wait, or nil if no hook is
// to be told.
func (l *Locker) reportWait(ctx context.Context, key string, opts *Opts, begun time.Time, candidate bool) *waitReport {
	if !l.cfg.Hooks.waiting() || opts.RetryCount == 1 {
		return nil
	}
	r, _ := l.reports.Get().(*waitReport)
	if r == nil {
		r = &waitReport{locker: l}
		r.timer = time.AfterFunc(longestPause, r.due)
	}
	r.ctx, r.key, r.opts, r.begun, r.candidate = ctx, key, *opts, begun, candidate
	r.timer.Reset(firstReport - time.Since(begun))
	return r
}

// inProcess says that the caller waits in the queue of this process from now on.
func (r *waitReport) inProcess(ticket uint64) {
	if r != nil {
		r.mu.Lock()
		r.ticket = ticket
		r.mu.Unlock()
	}
}

// inStore says that the caller waits in the store's queue from now on.
func (r *waitReport) inStore(owner string) {
	if r != nil {
		r.mu.Lock()
		r.owner = owner
		r.mu.Unlock()
	}
}

// stop ends the report: the hook is not called after it. It returns whether the other waiters
// of this process were told of a holder. The caller must be admitted to the key, or be a
// waiter, until then.
func (r *waitReport) stop() (told bool) {
	if r == nil {
		return false
	}
	r.mu.Lock()
	if !r.over {
		r.over, r.fired = true, !r.timer.Stop()
	}
	call, told := r.call, r.told
	if r.cancel != nil {
		r.cancel()
	}
	r.mu.Unlock()
	if call != nil {
		<-call
	}
	return told
}

// end ends the report, which must not be used again. Most acquisitions do not wait for long:
// their reports are kept for others, so that they cost no memory.
func (r *waitReport) end() {
	if r == nil {
		return
	}
	r.stop()
	if !r.fired && r.call == nil { // nobody else has it
		*r = waitReport{locker: r.locker, timer: r.timer}
		r.locker.reports.Put(r)
	}
}

// due is called when it is time to tell the hook.
func (r *waitReport) due() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	look, cancel := context.WithTimeout(r.ctx, lookTimeout)
	r.cancel = cancel
	owner := r.owner
	r.locker.life.background(func() { // so that Close waits for the look
		defer cancel()
		e := r.opts.event(Waiting, r.key)
		e.Leader = r.candidate
		var held *HeldError
		held, e.Place = r.locker.look(look, r.key, owner)
		if call := r.beginCall(&e, held); call != nil {
			defer close(call)
			r.locker.cfg.Hooks.Event(r.ctx, e)
			r.endCall(e.Wait)
		}
	})
}

// beginCall completes what the hook is told, and tells the other waiters of the holder that a
// look has shown. It returns nil if the wait has ended.
func (r *waitReport) beginCall(e *Event, held *HeldError) (call chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil
	}
	l, key := r.locker, r.key
	e.Wait = time.Since(r.begun)
	if held != nil {
		r.told = true
		l.tellWaiters(key, held, min(e.Wait, longestPause))
	}
	place, waiters := l.queue.Place(key, r.ticket)
	if place > 0 {
		e.Place, e.Local = place, true
	}
	if l.life.holder(key) == nil {
		waiters++ // the caller that asks the store
	}
	e.Waiters, e.Err = waiters, l.busyErr(key)
	r.call = make(chan struct{})
	return r.call
}

// endCall sets the timer anew, unless the wait has ended.
func (r *waitReport) endCall(wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.timer.Reset(min(wait, longestPause))
	}
}

// look asks the store for the holder of the key, and for the owner's place in the queue. What
// it does not learn is nil or 0. The refusals of a store without a queue say as much.
func (l *Locker) look(ctx context.Context, key, owner string) (held *HeldError, place int) {
	if owner == "" || l.inspector == nil {
		return nil, 0
	}
	infos, err := l.inspector.Inspect(ctx, key, 0)
	if err != nil || len(infos) == 0 || infos[0].Foreign != "" {
		return nil, 0 //nolint:nilerr // the caller waits on
	}
	own := driver.Fingerprint(owner)
	for n, w := range infos[0].Waiters {
		if w.Owner == own {
			place = n + 1
		}
	}
	if holders := infos[0].Holders; len(holders) > 0 && holders[0].Owner != own {
		h := &holders[0]
		held = &HeldError{Holder: h.Holder, RetryAfter: max(h.ExpiresIn, 0)}
		if !h.Since.IsZero() {
			held.Held = max(time.Since(h.Since), 0)
		}
	}
	return held, place
}
