package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// worker does the part of one process in a task.
type worker struct {
	task     task
	peer     Peer
	register *register // nil with OwnKeys
	callers  []caller
	drained  atomic.Bool // a goroutine has done all its loops
	arrivals *arrivals   // nil if they are not recorded
}

func newWorker(t task, p Peer, r *register) *worker {
	w := &worker{task: t, peer: p, register: r, callers: make([]caller, t.Goroutines)}
	for i := range w.callers {
		c := &w.callers[i]
		c.worker, c.key = w, t.Key
		c.ownKey = fmt.Sprintf("%s:%d:%d", t.Key, t.Proc, i)
		if t.OwnKeys {
			c.key = c.ownKey
		}
	}
	return w
}

// warmUp lets every goroutine take a key of its own a few times, so that connections
// are open, scripts are loaded and memory is mapped.
func (w *worker) warmUp(ctx context.Context) error {
	errs := make(chan error, len(w.callers))
	for i := range w.callers {
		go func() {
			for range 3 {
				h, err := w.peer.Lock(ctx, w.callers[i].ownKey)
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
	for range w.callers {
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
		w.arrivals = newArrivals(o.Loops * len(w.callers))
	}
	start := time.Unix(0, o.Start)
	time.Sleep(time.Until(start))

	var wg sync.WaitGroup
	for i := range w.callers {
		wg.Go(func() { w.callers[i].run(ctx, o, start) })
	}
	wg.Wait()

	r := report{Start: o.Start, End: time.Now().UnixNano(), Finished: true}
	for i := range w.callers {
		w.callers[i].sumUp(&r)
	}
	if w.arrivals != nil {
		r.Overtaken = w.arrivals.count()
	}
	return r
}

// caller is the part of one goroutine.
type caller struct {
	worker *worker
	key    string
	ownKey string
	newKey int // the number of the last one, with NewKeys

	locks     int64
	waits     []time.Duration
	full      spread
	handOvers []time.Duration
	errors    int
	err       error // the first error
	stopped   bool
	_         cacheLine // keeps the next caller in another cache line
}

// maxErrors ends a caller that fails so often that it measures nothing.
const maxErrors = 100

func (c *caller) run(parent context.Context, o order, start time.Time) {
	c.locks, c.full, c.errors, c.err, c.stopped = 0, spread{}, 0, nil, false
	c.waits, c.handOvers = c.waits[:0], c.handOvers[:0]
	// A context for each order, as for a request. It has a deadline because redislock
	// sets one if there is none.
	ctx, cancel := context.WithTimeout(parent, o.Limit)
	defer cancel()
	end := start.Add(o.For)
	for n := 0; n < o.Loops || o.Loops == 0; {
		asked := time.Now()
		if o.Loops == 0 && n > 0 && asked.After(end) {
			return // but a caller that begins late, on a busy machine, takes the lock once
		}
		err := c.once(ctx, asked, n > 0)
		if err == nil {
			n++
			continue
		}
		if ctx.Err() != nil {
			c.stopped = true
			c.waits = append(c.waits, time.Since(asked)) // a lower bound
			return
		}
		c.fail(err)
		if c.errors >= maxErrors {
			c.stopped = true
			return
		}
	}
	c.worker.drained.Store(true)
}

// once acquires the lock and releases it.
func (c *caller) once(ctx context.Context, asked time.Time, again bool) error {
	w := c.worker
	if w.task.NewKeys {
		c.newKey++
		c.key = c.ownKey + ":" + strconv.Itoa(c.newKey)
	}
	var a *arriving
	if w.arrivals != nil {
		// A new one each time: an earlier acquisition may still look at its own.
		a = w.arrivals.arriving(ctx)
		ctx = a
	}
	h, err := w.peer.Lock(ctx, c.key)
	if err != nil {
		return err
	}
	got := time.Now()
	if w.arrivals != nil {
		w.arrivals.grant(a)
	}
	if w.register != nil {
		if from := w.register.enter(w.task.Proc, h.Token, got); from.other {
			c.handOvers = append(c.handOvers, from.after)
		}
	}
	if w.task.Hold > 0 {
		time.Sleep(w.task.Hold)
	}
	if w.register != nil {
		w.register.leave(w.task.Proc, time.Now())
	}
	if err := h.Unlock(ctx); err != nil {
		c.fail(err) // but the lock was held
	}
	c.locks++
	if w.task.OwnKeys {
		got = time.Now() // without waiters, lock and unlock count together
	}
	wait := got.Sub(asked)
	c.waits = append(c.waits, wait)
	if again && !w.drained.Load() {
		c.full.add(wait)
	}
	return nil
}

func (c *caller) fail(err error) {
	if c.errors == 0 {
		c.err = err
	}
	c.errors++
}

func (c *caller) sumUp(r *report) {
	r.Locks += c.locks
	r.Finished = r.Finished && !c.stopped
	r.Errors += c.errors
	if c.err != nil && r.FirstError == "" {
		r.FirstError = c.err.Error()
	}
	for _, d := range c.waits {
		r.Waits.add(d)
	}
	for _, d := range c.handOvers {
		r.HandOvers.add(d)
	}
	r.Full.merge(c.full)
}
