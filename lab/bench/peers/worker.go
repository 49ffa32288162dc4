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
	lock    lockFunc
	callers []caller
	drained atomic.Bool  // a goroutine has done all its loops
	holders atomic.Int32 // of the one key, in this process
}

func newWorker(t task, lock lockFunc) *worker {
	w := &worker{task: t, lock: lock, callers: make([]caller, t.Goroutines)}
	for i := range w.callers {
		w.callers[i].worker, w.callers[i].ownKey = w, fmt.Sprintf("%s:%d:%d", t.Key, t.Proc, i)
	}
	return w
}

// warmUp lets every goroutine take a key of its own a few times, so that connections
// are open, scripts are loaded and memory is mapped. PostgreSQL plans a statement anew each of
// the first five times; where many goroutines share connections, fewer locks do.
func (w *worker) warmUp() error {
	ctx := context.Background() // the time limit is the parent's
	times := max(3, min(10, 1000/len(w.callers)))
	errs := make(chan error, len(w.callers))
	for i := range w.callers {
		go func() {
			var err error
			for n := 0; n < times && err == nil; n++ {
				var unlock unlockFunc
				if unlock, err = w.lock(ctx, w.callers[i].ownKey); err == nil {
					err = unlock(ctx)
				}
			}
			errs <- err
		}()
	}
	for range w.callers {
		if err := <-errs; err != nil {
			return fmt.Errorf("warming up: %w", err)
		}
	}
	return nil
}

// do executes an order.
func (w *worker) do(o order) turn {
	w.drained.Store(false)
	start := time.Unix(0, o.Start)
	time.Sleep(time.Until(start))
	if o.Rate > 0 {
		return w.open(o, start)
	}
	var callers sync.WaitGroup
	for i := range w.callers {
		callers.Go(func() { w.callers[i].run(o, start) })
	}
	callers.Wait()
	elapsed := time.Since(start)

	sum := turn{Finished: true}
	for i := range w.callers {
		did := w.callers[i].did
		if w.task.Hold > 0 {
			did.Callers = []spread{did.Full}
		}
		sum.beside(did)
	}
	sum.Elapsed, sum.Problems = elapsed, sum.Problems[:min(1, len(sum.Problems))]
	if w.task.Peer == pipeline {
		sum.Locks *= pipelinePairs
	}
	return sum
}

// open begins a lock on a key of its own at each tick.
func (w *worker) open(o order, start time.Time) turn {
	ctx, cancel := context.WithDeadline(context.Background(), start.Add(o.Limit))
	defer cancel()
	every := time.Duration(float64(time.Second) / o.Rate)
	did := make([]caller, o.Length/every)
	var all sync.WaitGroup
	for i := range did {
		time.Sleep(time.Until(start.Add(time.Duration(i) * every)))
		all.Go(func() {
			c := &did[i]
			c.worker, c.ownKey, c.did = w, fmt.Sprintf("%s:open:%d", w.task.Key, i), turn{Finished: true}
			begin := time.Now()
			if err := c.once(ctx, begin, false); err != nil {
				c.fail(err)
			}
			c.did.Passed = []time.Duration{time.Since(begin)}
		})
	}
	all.Wait()
	sum := turn{Finished: true, Elapsed: time.Since(start)}
	for i := range did {
		sum.Locks += did[i].did.Locks
		sum.Passed = append(sum.Passed, did[i].did.Passed...)
		sum.Problems = append(sum.Problems, did[i].did.Problems...)
	}
	sum.Problems = sum.Problems[:min(1, len(sum.Problems))]
	return sum
}

// caller is the part of one goroutine.
type caller struct {
	worker *worker
	ownKey string

	did    turn
	errors int
	_      [64]byte // keeps the next caller in another cache line
}

// maxErrors ends a caller that fails so often that it measures nothing.
const maxErrors = 100

func (c *caller) run(o order, start time.Time) {
	c.did, c.errors = turn{Finished: true}, 0
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
			c.did.Finished = false
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
	unlock, err := w.lock(ctx, key)
	if err != nil {
		return err
	}
	if !w.task.OwnKeys {
		if w.holders.Add(1) != 1 {
			c.fail(errTwoHolders)
		}
		got := time.Now()
		if again && !w.drained.Load() {
			c.did.Full.add(spread{1, got.Sub(asked), got.Sub(asked)})
		}
		switch {
		case w.task.Peer == ping:
			c.did.Passed = append(c.did.Passed, got.Sub(asked))
		case w.task.Turns:
			c.did.Moves = append(c.did.Moves, move{At: got.UnixNano(), Taken: true}, move{At: time.Now().UnixNano()})
		}
		time.Sleep(w.task.Hold)
		w.holders.Add(-1)
	}
	if err := unlock(ctx); err != nil {
		c.fail(err) // but the lock was held
	}
	c.did.Locks++
	return nil
}

// fail notes the first error.
func (c *caller) fail(err error) {
	if c.errors++; c.errors == 1 {
		c.did.Problems = []string{err.Error()}
	}
}
