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
	timed  bool               // the timer was set
	fired  bool               // due was called when the wait ended, and may not have returned
	ticket uint64             // in the queue of this process; 0: it is not there
	owner  string             // in the store's queue; "": it is not there
	cancel context.CancelFunc // of the last look
	told   bool               // the other waiters of this process, of what a look has shown
	call   chan struct{}      // of the hook: closed when it has returned
	over   bool               // the wait has ended
}

// reportWait returns the report of an acquisition, or nil if there is no hook.
func (l *Locker) reportWait(ctx context.Context, key string, opts *Opts, begun time.Time, candidate bool) *waitReport {
	if l.cfg.Hooks.Waiting == nil {
		return nil
	}
	r, _ := l.reports.Get().(*waitReport)
	if r == nil {
		r = &waitReport{locker: l}
	}
	r.ctx, r.key, r.opts, r.begun, r.candidate = ctx, key, *opts, begun, candidate
	return r
}

// inProcess says that the caller waits in the queue of this process from now on.
func (r *waitReport) inProcess(ticket uint64) { r.waitsIn(ticket, "") }

// inStore says that the caller waits for the store from now on: in its queue, or without one
// if owner is "".
func (r *waitReport) inStore(owner string) { r.waitsIn(0, owner) }

func (r *waitReport) waitsIn(ticket uint64, owner string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ticket, r.owner = ticket, owner
	if r.timed {
		return
	}
	r.timed = true
	if d := firstReport - time.Since(r.begun); r.timer == nil {
		r.timer = time.AfterFunc(d, r.due)
	} else {
		r.timer.Reset(d)
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
	if !r.over && r.timed {
		r.fired = !r.timer.Stop()
	}
	r.over = true
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
	r.mu.Lock()
	unused := !r.fired && r.call == nil
	r.mu.Unlock()
	if unused {
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
	var look context.Context
	owner := r.owner
	if owner != "" && r.locker.inspector != nil {
		look, r.cancel = context.WithTimeout(r.ctx, lookTimeout)
	}
	r.locker.life.background(func() { // so that Close waits for the look
		var held *HeldError
		place := 0
		if look != nil {
			held, place = r.locker.look(look, r.key, owner)
		}
		r.tell(held, place)
	})
}

// tell calls the hook, with what a look has shown: the holder, or nil, and the caller's place in
// the store's queue, or 0.
func (r *waitReport) tell(held *HeldError, place int) {
	i := WaitingInfo{LockInfo: r.opts.info(r.key), Place: place, Candidate: r.candidate}
	call := r.beginCall(&i, held)
	if call == nil {
		return
	}
	defer close(call)
	r.locker.cfg.Hooks.Waiting(r.ctx, i)
	r.endCall(i.Wait)
}

// beginCall completes what the hook is told, and tells the other waiters of the holder. It
// returns nil if the wait has ended.
func (r *waitReport) beginCall(i *WaitingInfo, held *HeldError) (call chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel != nil {
		r.cancel()
	}
	if r.over {
		return nil
	}
	l, key := r.locker, r.key
	i.Wait = time.Since(r.begun)
	if held != nil {
		r.told = true
		l.tellWaiters(key, held, min(i.Wait, longestPause))
	}
	if r.ticket != 0 {
		i.Place = l.queue.Place(key, r.ticket)
		i.Local = i.Place > 0
	}
	i.Err = l.busyErr(key)
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
// it does not learn is nil or 0.
func (l *Locker) look(ctx context.Context, key, owner string) (held *HeldError, place int) {
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
