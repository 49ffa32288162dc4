package dispatch

import (
	"context"
	"runtime"
	"slices"
	"time"
)

// batch is a message: requests that are sent together.
type batch[R, V any] struct {
	calls []*call[R, V]
	reqs  []R // of the calls

	start   time.Time
	direct  bool        // it is sent by its leader
	results []Result[V] // if it is direct

	// Of a message with a goroutine of its own.
	deadline time.Time
	youth    time.Duration // after which others may follow

	// Guarded by the mutex of the Batcher.
	old   bool // its youth is over
	ended bool
}

// lead sends a message with c and what is queued. The caller of c calls it.
func (b *Batcher[R, V]) lead(c *call[R, V]) {
	if b.inCompany() {
		runtime.Gosched() // callers whose answers came at the same time are about to come
	}
	t := b.take(c)
	if !t.direct {
		go b.sendBatch(t)
		return
	}
	b.cfg.Direct(b.directTimeouts.Context(context.Background(), t.start), t.reqs, t.results) //nolint:forbidigo // the message has many callers, which leave by themselves
	b.end(t, t.results)
	b.batches.Put(t) // nobody else refers to it
}

// inCompany reports whether a leader should yield. To be scheduled again may take long on a busy
// machine. So it does not where the last answer took long, for whatever reason.
func (b *Batcher[R, V]) inCompany() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.company > 0 && b.took <= yieldWithin
}

// take returns the message that c leads.
func (b *Batcher[R, V]) take(c *call[R, V]) *batch[R, V] {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	n := min(len(b.queue), maxBatch-1)
	if b.silent {
		n = 0
	}
	t := b.newBatch(now, b.directly() && !c.once)
	if t.direct {
		if i := slices.IndexFunc(b.queue[:n], func(c *call[R, V]) bool { return c.once }); i >= 0 {
			n = i
		}
	} else {
		t.deadline, t.youth = now.Add(b.cfg.Timeout), b.lateAfter
		if b.distant() {
			t.youth = min(followAfter, b.lateAfter)
		}
		if b.silent && now.Before(b.giveUp) {
			t.deadline = b.giveUp
		}
		b.young++
	}
	t.calls = append(append(slices.Grow(t.calls, n+1), c), b.queue[:n]...)
	t.reqs = slices.Grow(t.reqs, n+1)
	for _, c := range t.calls {
		c.state = stateSent
		t.reqs = append(t.reqs, c.req)
	}
	if t.direct {
		t.results = slices.Grow(t.results, n+1)[:n+1]
		clear(t.results)
	}
	b.queue = slices.Delete(b.queue, 0, n)
	if !t.direct {
		b.hurry(t.calls)
		b.hurry(b.queue)
	}
	b.began = now
	if n > 0 {
		b.company = company
	} else {
		b.company = max(b.company-1, 0)
	}
	return t
}

// newBatch returns an empty message. What belongs to a direct one is used again afterwards:
// nobody refers to it any more.
func (b *Batcher[R, V]) newBatch(start time.Time, direct bool) *batch[R, V] {
	t := new(batch[R, V])
	if direct {
		if used, ok := b.batches.Get().(*batch[R, V]); ok {
			t = used
		}
	}
	*t = batch[R, V]{start: start, direct: direct, calls: t.calls[:0], reqs: t.reqs[:0], results: t.results[:0]}
	return t
}

// sendBatch sends a message on a goroutine of its own.
func (b *Batcher[R, V]) sendBatch(t *batch[R, V]) {
	ctx, cancel := context.WithDeadline(context.Background(), t.deadline) //nolint:forbidigo // the message has many callers, which leave by themselves
	defer cancel()
	growing := time.AfterFunc(t.youth, func() { b.grow(t) })
	waiting := context.AfterFunc(ctx, func() { b.abandon(t) })
	results := b.cfg.Send(ctx, t.reqs)
	growing.Stop()
	if waiting() {
		b.end(t, results)
	}
}

// grow lets others follow a message, and watches whether it becomes late.
func (b *Batcher[R, V]) grow(t *batch[R, V]) {
	b.mu.Lock()
	if !t.ended {
		t.old = true
		b.young--
		b.old++
		if t.youth < b.lateAfter {
			time.AfterFunc(b.lateAfter-t.youth, func() {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.miss(t)
			})
		} else {
			b.miss(t)
		}
	}
	b.mu.Unlock()
	b.next()
}

// miss is called with the mutex when a message is late.
func (b *Batcher[R, V]) miss(t *batch[R, V]) {
	if t.ended {
		return
	}
	b.responsive = false
	b.silent, b.giveUp = true, t.deadline
	time.AfterFunc(b.cfg.Timeout/2-b.lateAfter, func() {
		b.mu.Lock()
		ended := t.ended
		b.mu.Unlock()
		if !ended {
			b.cfg.Slow()
		}
	})
}

// abandon ends a message that has had no answer in time. If the server has not answered
// anything else either, the queued requests end, too: to wait as long again would not
// help.
func (b *Batcher[R, V]) abandon(t *batch[R, V]) {
	err := b.cfg.NoAnswer()
	b.mu.Lock()
	var queued []*call[R, V]
	if !b.answered.After(t.start) {
		queued, b.queue = b.queue, nil
	}
	for _, c := range queued {
		c.state, c.result = stateDone, Result[V]{Err: err, OutcomeKnown: !c.inDoubt}
	}
	b.mu.Unlock()
	for _, c := range queued {
		c.signals <- proceed
	}
	results := make([]Result[V], len(t.calls))
	for i := range results {
		results[i].Err = err
	}
	b.end(t, results)
}

// end ends a message, gives the callers their results, and lets the next one lead. What was sent
// directly and had no answer is queued again.
func (b *Batcher[R, V]) end(t *batch[R, V], results []Result[V]) {
	now := time.Now()
	done, answers := 0, 0
	var again []*call[R, V]
	b.mu.Lock()
	for i, c := range t.calls {
		r := &results[i]
		if r.answered() {
			answers++
		}
		switch {
		case c.state == stateLeft:
			continue
		case t.direct && !r.answered():
			c.inDoubt = c.inDoubt || !r.OutcomeKnown
			c.state = stateQueued
			again = append(again, c)
			continue
		}
		r.OutcomeKnown = r.OutcomeKnown && !c.inDoubt
		c.state, c.result = stateDone, *r
		t.calls[done] = c
		done++
	}
	switch {
	case answers > 0:
		b.answered, b.took, b.silent = now, now.Sub(t.start), false
		b.measure(len(t.calls))
	case t.direct && !b.answered.After(t.start):
		b.silent, b.giveUp = true, t.start.Add(b.cfg.Timeout)
	}
	b.responsive = answers == len(results) && now.Sub(t.start) <= responsiveWithin
	t.ended = true
	b.inFlight--
	switch {
	case t.old:
		b.old--
	case !t.direct:
		b.young--
	}
	b.queue = slices.Insert(b.queue, 0, again...)
	next := b.choose()
	b.mu.Unlock()
	for _, c := range t.calls[:done] {
		c.signals <- proceed
	}
	if next != nil {
		next.signals <- proceed
	}
}
