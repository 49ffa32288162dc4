package distlock

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/leasestate"
)

// watchdog renews the holds of one Locker and ends those whose time has run
// out. It is one goroutine with one schedule, however many holds there are;
// renewals go out in batches, so that a slow answer delays neither the
// deadlines nor the next batch. Each result counts as soon as the backend reports it,
// so that a slow server delays none of another's.
//
// It is started by the first hold and ends with the Locker.
type watchdog struct {
	backend driver.Backend
	now     func() time.Time
	epoch   time.Time     // of the grid of renewals
	wake    chan struct{} // the schedule has a new first entry, or a batch came back
	stop    context.CancelFunc
	ctx     context.Context //nolint:containedctx // ends the renewals under way when the Locker is closed
	done    sync.WaitGroup

	mu       sync.Mutex
	schedule schedule
	alarm    time.Time // when the goroutine wakes by itself; zero: not planned
	started  bool
}

const (
	// clockCheck is how often the watchdog looks whether the machine was
	// suspended: its timers stood still then, the leases in the store did not.
	clockCheck = time.Second
)

// leaseState is the state of a lease of this process, and what the watchdog knows of it.
type leaseState struct {
	leasestate.State[*Lease]
	watch watch
}

// watch is what the watchdog knows about one lease. The watchdog's mutex guards it.
type watch struct {
	at      time.Time // the next thing to do
	renewAt time.Time
	index   int // in the schedule
	listed  bool
	waiting bool // a renewal is under way
}

func newWatchdog(b driver.Backend) *watchdog {
	ctx, stop := context.WithCancel(context.Background()) //nolint:forbidigo // belongs to no call: ended by close
	w := &watchdog{
		backend: b, now: time.Now, epoch: time.Now(), wake: make(chan struct{}, 1), ctx: ctx, stop: stop,
	}
	return w
}

// add begins to watch h.
func (w *watchdog) add(h *leaseState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.started {
		w.started = true
		w.done.Go(w.run)
	}
	h.watch = watch{renewAt: w.onGrid(h.Sent().Add(renewalPause(h.TTL())), h.TTL()), listed: true}
	w.place(h)
}

// remove ends the watch over h: it is renewed no more, even if a batch with it
// is under way.
func (w *watchdog) remove(h *leaseState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h.watch.listed {
		heap.Remove(&w.schedule, h.watch.index)
		h.watch.listed = false
	}
}

// extended is called after h was extended by another function.
func (w *watchdog) extended(h *leaseState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle(h, time.Now().Add(renewalPause(h.TTL())))
}

// moved is called after the end of h has come nearer, or has moved on.
func (w *watchdog) moved(h *leaseState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle(h, h.watch.renewAt)
}

// holds returns all that are watched.
func (w *watchdog) watched() []*leaseState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.schedule)
}

func (w *watchdog) close() {
	w.stop()
	w.done.Wait()
}

// renewalPause is a third of the lease, less up to a tenth of that: holds that
// began together do not stay together.
func renewalPause(ttl time.Duration) time.Duration {
	third := ttl / 3
	return third - rand.N(third/10+1)
}

// onGrid moves at back to the grid of renewals for leases of ttl, 64 to a third
// of the lease: holds that are due within the same place go out in one batch.
func (w *watchdog) onGrid(at time.Time, ttl time.Duration) time.Time {
	d := at.Sub(w.epoch)
	return w.epoch.Add(d - d%max(ttl/3/64, 1))
}

// retryPause is how soon an unanswered renewal is tried again.
func retryPause(ttl time.Duration) time.Duration { return renewalPause(ttl) / 4 }

// settle plans h's next renewal.
func (w *watchdog) settle(h *leaseState, renewAt time.Time) {
	if !h.watch.listed {
		return
	}
	heap.Remove(&w.schedule, h.watch.index)
	h.watch.renewAt = w.onGrid(renewAt, h.TTL())
	w.place(h)
}

// place puts h into the schedule, by its renewal or its end.
func (w *watchdog) place(h *leaseState) {
	end, renewable := h.Until()
	h.watch.at = end
	if renewable && !h.watch.waiting && h.watch.renewAt.Before(end) {
		h.watch.at = h.watch.renewAt
	}
	heap.Push(&w.schedule, h)
	if w.schedule[0] == h && (w.alarm.IsZero() || h.watch.at.Before(w.alarm)) {
		w.nudge()
	}
}

func (w *watchdog) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watchdog) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	last := w.now()
	for {
		now := w.now()
		if clock.Jumped(last, now) {
			w.recheck(now)
		}
		last = now
		for _, h := range w.due(now) {
			_ = h.Expire(now)
		}
		if pause, ok := w.sleep(now); ok {
			timer.Reset(pause)
		} else {
			timer.Stop()
		}
		select {
		case <-w.ctx.Done():
			return
		case <-w.wake:
		case <-timer.C:
		}
	}
}

// recheck brings every deadline forward to now: after a jump of the wall clock
// any of them may have passed without its timer.
func (w *watchdog) recheck(now time.Time) {
	for _, h := range w.watched() {
		_ = h.Check(now) // ends those that are over
	}
}

// sleep returns how long nothing is to do, or false if there is nothing at all.
// When the last hold is gone it keeps an alarm for a while: where locks come and
// go one at a time, the watchdog is not woken for each.
func (w *watchdog) sleep(now time.Time) (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	limit := now.Add(clockCheck)
	switch {
	case len(w.schedule) > 0 && w.schedule[0].watch.at.Before(limit):
		w.alarm = w.schedule[0].watch.at
	case len(w.schedule) > 0 || w.alarm.IsZero():
		w.alarm = limit
	case !w.alarm.After(now): // a while has passed
		w.alarm = time.Time{}
		return 0, false
	}
	return w.alarm.Sub(now), true
}

// due takes the holds whose time has run out from the schedule and returns
// them, and sends a renewal for those whose turn it is.
func (w *watchdog) due(now time.Time) (expired []*leaseState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var batch []*leaseState
	for len(w.schedule) > 0 && !w.schedule[0].watch.at.After(now) {
		h := w.schedule[0]
		heap.Pop(&w.schedule)
		end, renewable := h.Until()
		switch {
		case !end.After(now):
			h.watch.listed = false
			expired = append(expired, h)
			continue
		case !renewable || h.watch.waiting || h.watch.renewAt.After(now): // its end has moved on
		default:
			h.watch.waiting = true
			h.StartRequest()
			batch = append(batch, h)
		}
		w.place(h)
	}
	if batch != nil {
		w.done.Go(func() { w.renew(batch) })
	}
	return expired
}

// renew sends one batch and acts on each result when it comes. A result that does not
// come cancels nothing: the renewal is tried again until the deadline.
func (w *watchdog) renew(batch []*leaseState) {
	grants := make([]driver.Grant, len(batch))
	timeout := batch[0].TTL()
	for i, h := range batch {
		grants[i] = h.Grant()
		timeout = min(timeout, h.TTL())
	}
	sent := time.Now()
	ctx, cancel := context.WithTimeout(w.ctx, timeout/3)
	defer cancel()
	var mu sync.Mutex // of reported
	reported := make([]bool, len(batch))
	report := func(i int, r driver.RenewResult) {
		mu.Lock()
		first := !reported[i]
		reported[i] = true
		mu.Unlock()
		if first {
			w.renewed(batch[i], sent, r)
		}
	}
	w.backend.Renew(ctx, grants, report)
	for i := range batch {
		report(i, driver.RenewResult{})
	}
}

// renewed acts on the result of a renewal that was sent then.
func (w *watchdog) renewed(h *leaseState, sent time.Time, r driver.RenewResult) {
	now := time.Now()
	failed := false
	w.mu.Lock()
	h.watch.waiting = false
	h.EndRequest(r.Status != driver.Unknown)
	switch r.Status {
	case driver.Renewed:
		h.Extend(sent)
		w.settle(h, now.Add(renewalPause(h.TTL())))
	case driver.Lost:
	default:
		if h.watch.listed && w.ctx.Err() == nil { // otherwise it need not be renewed any more
			failed = true
			h.NotRenewed(sent, r.Err)
		}
		w.settle(h, now.Add(retryPause(h.TTL())))
	}
	w.mu.Unlock()
	switch {
	case r.Status == driver.Lost:
		w.remove(h)
		_ = h.Lose(errTaken)
	case failed:
		holders, left := h.Holders(time.Now())
		for _, s := range holders {
			s.renewalFailed(r.Err, left)
		}
	}
}

// schedule is a heap of holds by the time of the next thing to do.
type schedule []*leaseState

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].watch.at.Before(s[j].watch.at) }

func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].watch.index, s[j].watch.index = i, j
}

// Push is for container/heap.
func (s *schedule) Push(x any) {
	h := x.(*leaseState)
	h.watch.index = len(*s)
	*s = append(*s, h)
}

// Pop is for container/heap.
func (s *schedule) Pop() any {
	last := len(*s) - 1
	h := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	return h
}
