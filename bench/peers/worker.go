package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// worker does the part of one process in a task.
type worker struct {
	task     task
	peer     Peer
	register *register // nil with OwnKeys
	lanes    []lane
	drained  atomic.Bool // a goroutine has done all its loops
	arrivals *arrivals   // nil if they are not recorded
}

func newWorker(t task, p Peer, r *register) *worker {
	w := &worker{task: t, peer: p, register: r, lanes: make([]lane, t.Goroutines)}
	for i := range w.lanes {
		l := &w.lanes[i]
		l.worker, l.key = w, t.Key
		l.ownKey = fmt.Sprintf("%s:%d:%d", t.Key, t.Proc, i)
		if t.OwnKeys {
			l.key = l.ownKey
		}
	}
	return w
}

// warmUp lets every goroutine take a key of its own a few times, so that connections
// are open, scripts are loaded and memory is mapped.
func (w *worker) warmUp(ctx context.Context) error {
	errs := make(chan error, len(w.lanes))
	for i := range w.lanes {
		go func() {
			for range 3 {
				h, err := w.peer.Lock(ctx, w.lanes[i].ownKey)
				if err == nil {
					err = h.Unlock(ctx)
				}
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range w.lanes {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

// do executes an order. If ctx ends first, the report says so.
func (w *worker) do(ctx context.Context, o order) report {
	w.drained.Store(false)
	w.arrivals = nil
	if o.Order {
		w.arrivals = newArrivals(o.Loops * len(w.lanes))
	}
	start := time.Unix(0, o.Start)
	time.Sleep(time.Until(start))

	var wg sync.WaitGroup
	for i := range w.lanes {
		wg.Go(func() { w.lanes[i].run(ctx, o, start) })
	}
	wg.Wait()

	r := report{Start: o.Start, End: time.Now().UnixNano(), Finished: true}
	for i := range w.lanes {
		w.lanes[i].sumUp(&r)
	}
	if w.arrivals != nil {
		r.Overtaken = w.arrivals.count()
	}
	return r
}

// lane is the part of one goroutine.
type lane struct {
	worker *worker
	key    string
	ownKey string

	locks     int64
	waits     []time.Duration
	full      spread
	handOvers []time.Duration
	arriving  arriving
	errors    int
	err       error // the first error
	stopped   bool
	_         cacheLine // keeps the next lane in another cache line
}

// maxErrors ends a lane that fails so often that it measures nothing.
const maxErrors = 100

func (l *lane) run(parent context.Context, o order, start time.Time) {
	l.locks, l.full, l.errors, l.err, l.stopped = 0, spread{}, 0, nil, false
	l.waits, l.handOvers = l.waits[:0], l.handOvers[:0]
	// A context for each order, as for a request. It has a deadline because redislock
	// sets one if there is none.
	ctx, cancel := context.WithTimeout(parent, o.Limit)
	defer cancel()
	end := start.Add(o.For)
	for n := 0; n < o.Loops || o.Loops == 0; {
		asked := time.Now()
		if o.Loops == 0 && asked.After(end) {
			return
		}
		err := l.once(ctx, asked, n > 0)
		if err == nil {
			n++
			continue
		}
		if ctx.Err() != nil {
			l.stopped = true
			l.waits = append(l.waits, time.Since(asked)) // a lower bound
			return
		}
		l.fail(err)
		if l.errors >= maxErrors {
			l.stopped = true
			return
		}
	}
	l.worker.drained.Store(true)
}

// once acquires the lock and releases it.
func (l *lane) once(ctx context.Context, asked time.Time, again bool) error {
	w := l.worker
	if w.arrivals != nil {
		l.arriving = w.arrivals.arriving(ctx)
		ctx = &l.arriving
	}
	h, err := w.peer.Lock(ctx, l.key)
	if err != nil {
		return err
	}
	got := time.Now()
	if w.arrivals != nil {
		w.arrivals.grant(&l.arriving)
	}
	if w.register != nil {
		if from := w.register.enter(w.task.Proc, h.Token, got); from.other {
			l.handOvers = append(l.handOvers, from.after)
		}
	}
	if w.task.Hold > 0 {
		time.Sleep(w.task.Hold)
	}
	if w.register != nil {
		w.register.leave(w.task.Proc, time.Now())
	}
	if err := h.Unlock(ctx); err != nil {
		l.fail(err) // but the lock was held
	}
	l.locks++
	if w.task.OwnKeys {
		got = time.Now() // without waiters, lock and unlock count together
	}
	wait := got.Sub(asked)
	l.waits = append(l.waits, wait)
	if again && !w.drained.Load() {
		l.full.add(wait)
	}
	return nil
}

func (l *lane) fail(err error) {
	if l.errors == 0 {
		l.err = err
	}
	l.errors++
}

func (l *lane) sumUp(r *report) {
	r.Locks += l.locks
	r.Finished = r.Finished && !l.stopped
	r.Errors += l.errors
	if l.err != nil && r.FirstError == "" {
		r.FirstError = l.err.Error()
	}
	for _, d := range l.waits {
		r.Waits.add(d)
	}
	for _, d := range l.handOvers {
		r.HandOvers.add(d)
	}
	r.Full.merge(l.full)
}
