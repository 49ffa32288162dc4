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
	task    task
	peer    Peer
	callers []caller
	drained atomic.Bool  // a goroutine has done all its loops
	holders atomic.Int32 // of the one key, in this process
}

func newWorker(t task, p Peer) *worker {
	w := &worker{task: t, peer: p, callers: make([]caller, t.Goroutines)}
	for i := range w.callers {
		c := &w.callers[i]
		c.worker, c.ownKey = w, fmt.Sprintf("%s:%d:%d", t.Key, t.Proc, i)
	}
	return w
}

// warmUp lets every goroutine take a key of its own a few times, so that connections
// are open, scripts are loaded and memory is mapped.
func (w *worker) warmUp(ctx context.Context) error {
	errs := make(chan error, len(w.callers))
	for i := range w.callers {
		go func() {
			var err error
			for n := 0; n < 3 && err == nil; n++ {
				var unlock func(context.Context) error
				if unlock, err = w.peer.Lock(ctx, w.callers[i].ownKey); err == nil {
					err = unlock(ctx)
				}
			}
			errs <- err
		}()
	}
	for range w.callers {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

// do executes an order.
func (w *worker) do(o order) report {
	w.drained.Store(false)
	start := time.Unix(0, o.Start)
	time.Sleep(time.Until(start))

	var callers sync.WaitGroup
	for i := range w.callers {
		callers.Go(func() { w.callers[i].run(o, start) })
	}
	callers.Wait()

	r := report{End: time.Now().UnixNano(), Finished: true}
	for i := range w.callers {
		w.callers[i].sumUp(&r)
	}
	return r
}

// caller is the part of one goroutine.
type caller struct {
	worker *worker
	ownKey string

	locks   int64
	full    spread
	moves   []move
	err     error // the first error
	errors  int
	stopped bool
	_       [64]byte // keeps the next caller in another cache line
}

// maxErrors ends a caller that fails so often that it measures nothing.
const maxErrors = 100

func (c *caller) run(o order, start time.Time) {
	*c = caller{worker: c.worker, ownKey: c.ownKey}
	// A context for each order, as for a request. It has a deadline because redislock
	// sets one if there is none.
	ctx, cancel := context.WithDeadline(context.Background(), start.Add(o.Limit))
	defer cancel()
	end := start.Add(o.Length)
	for n := 0; n < o.Loops || o.Loops == 0; {
		asked := time.Now()
		if o.Loops == 0 && n > 0 && asked.After(end) {
			return // but a caller that begins late, on a busy machine, takes the lock once
		}
		if err := c.once(ctx, asked, n > 0); err == nil {
			n++
		} else if c.fail(err); ctx.Err() != nil || c.errors >= maxErrors {
			c.stopped = true
			return
		}
	}
	c.worker.drained.Store(true)
}

// once acquires the lock and releases it.
func (c *caller) once(ctx context.Context, asked time.Time, again bool) error {
	w, key := c.worker, c.ownKey
	if !w.task.OwnKeys {
		key = w.task.Key
	}
	unlock, err := w.peer.Lock(ctx, key)
	if err != nil {
		return err
	}
	if !w.task.OwnKeys {
		if w.holders.Add(1) != 1 {
			c.fail(errTwoHolders)
		}
		got := time.Now()
		if again && !w.drained.Load() {
			c.full.add(got.Sub(asked))
		}
		if w.task.Turns {
			c.moves = append(c.moves, move{At: got.UnixNano(), Taken: true}, move{At: time.Now().UnixNano()})
		}
		w.holders.Add(-1)
	}
	if err := unlock(ctx); err != nil {
		c.fail(err) // but the lock was held
	}
	c.locks++
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
	if c.err != nil && r.Err == "" {
		r.Err = c.err.Error()
	}
	r.Full.merge(c.full)
	r.Moves = append(r.Moves, c.moves...)
}

// spread summarises durations.
type spread struct {
	N        int64
	Sum, Max time.Duration
}

func (s *spread) add(d time.Duration) { s.merge(spread{1, d, d}) }

func (s *spread) merge(o spread) {
	s.N += o.N
	s.Sum += o.Sum
	s.Max = max(s.Max, o.Max)
}
