package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// worker does one process's part of a task.
type worker struct {
	task     task
	peer     Peer
	register *register // nil with own keys
	lanes    []lane
	drained  atomic.Bool // somebody has done all his loops
	arrivals *arrivals   // nil if nobody asked for them
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

// warmUp lets every goroutine lock a key of its own a few times: then
// connections are open, scripts loaded and pages touched.
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

// do carries out an order. If ctx ends before that is done, the report says so.
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

// lane is one goroutine's part.
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
	err       error // the first
	stopped   bool
	_         cacheLine // of the next lane
}

// maxErrors ends a lane. One that fails so often measures nothing.
const maxErrors = 100

func (l *lane) run(parent context.Context, o order, start time.Time) {
	l.locks, l.full, l.errors, l.err, l.stopped = 0, spread{}, 0, nil, false
	l.waits, l.handOvers = l.waits[:0], l.handOvers[:0]
	// Of its own, as a request has. It has a deadline because redislock makes one
	// if there is none.
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
			l.waits = append(l.waits, time.Since(asked)) // at least
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

// once takes the lock and gives it back.
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
		l.fail(err) // but it was held
	}
	l.locks++
	if w.task.OwnKeys {
		got = time.Now() // nobody waits, so it is the whole that counts
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
