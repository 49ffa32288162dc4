package dispatch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/distlock-go/distlock/internal/rolling"
)

const (
	// DirectTimeout is how long Direct may take.
	DirectTimeout = 50 * time.Millisecond

	// A server is responsive if its last answer took no longer than this.
	responsiveWithin = 10 * time.Millisecond

	// few is how many requests go directly at once. From about ten callers on, batches cost
	// less than half: see docs/adr/0004-batching.md.
	few = 8

	// followAfter is when another batch may follow one to a distant server. A server nearby
	// gets one at a time: meanwhile the next one fills. A server counts as distant if its
	// last answer took longer than this.
	followAfter = time.Millisecond

	maxInFlight = 16  // batches
	maxBatch    = 512 // requests
)

// Config configures a [Batcher].
type Config[R, V any] struct {
	// Direct sends one request on the goroutine of its caller. It must return within
	// DirectTimeout, even if the server does not answer. It sets the Result as Send does. It
	// is nil if that is not possible. It has no effect unless Timeout is longer than
	// DirectTimeout.
	Direct func(ctx context.Context, req R) Result[V]

	// Send sends the requests at once and returns a Result for each, in the same order. It
	// sets Sent if the server has answered the request, and OutcomeKnown unless the request
	// can still reach the server. It is abandoned when ctx ends: it goes on, but its results
	// are dropped.
	Send func(ctx context.Context, reqs []R) []Result[V]

	// Timeout is how long a batch may take.
	Timeout time.Duration

	// Run runs a function on another goroutine. It must not block.
	Run func(func())

	// Slow is called when half of Timeout has passed without an answer to a batch. It may
	// block.
	Slow func()

	// NoAnswer is called when Timeout has passed without an answer to a batch. It returns
	// the error for the callers.
	NoAnswer func() error
}

// Batcher sends requests to one server. It is safe for concurrent use.
//
// To pass a request to another goroutine and back costs as much as the request. So a
// request goes directly, on its caller's goroutine, if few others are under way and the
// server is responsive. If it gets no answer within a short time, it is sent again in a
// batch, so only idempotent requests go directly. A caller may exceed its context by
// DirectTimeout. That happens once: the server is not responsive afterwards.
//
// A connection may fail while a batch is in flight. So a batch without an answer becomes
// late: others may overtake it. Until the server answers again, they have one request
// each: if it is the server that does not answer, few requests are in doubt.
type Batcher[R, V any] struct {
	cfg            Config[R, V]
	lateAfter      time.Duration
	directTimeouts *rolling.Timeout
	calls          sync.Pool

	mu         sync.Mutex
	queue      []*call[R, V]
	direct     int // requests that were sent directly
	batched    int // requests in batches in flight
	inFlight   int // batches
	young      int // those of them that others may not follow yet
	empty      int // those of them that have not taken their requests yet
	crowd      int // the mean size of the last batches
	responsive bool
	began      time.Time     // when the last batch was sent
	answered   time.Time     // the time of the last answer
	took       time.Duration // it
	silent     bool          // there was no answer since a batch became late
	giveUp     time.Time     // if it is silent: the deadline of that batch
}

// New returns a Batcher.
func New[R, V any](cfg Config[R, V]) *Batcher[R, V] {
	if cfg.Timeout <= DirectTimeout {
		cfg.Direct = nil
	}
	return &Batcher[R, V]{
		cfg:            cfg,
		lateAfter:      min(DirectTimeout, cfg.Timeout/2),
		directTimeouts: rolling.New(DirectTimeout),
	}
}

// Do sends a request and returns its result. If ctx ends first, it returns at once. Then
// the request may still be carried out, unless the result says that the outcome is known.
// A request that is not idempotent is sent once only.
//
// Do returns within Timeout after the request was sent in a batch. Before that, the request
// may be queued, but for no longer than Timeout while the server answers nothing at all.
func (b *Batcher[R, V]) Do(ctx context.Context, req R, idempotent bool) Result[V] {
	if err := ctx.Err(); err != nil {
		return Result[V]{Err: err, OutcomeKnown: true}
	}
	inDoubt := false
	if idempotent && b.cfg.Direct != nil && b.enter() {
		r := b.sendDirect(ctx, req)
		if r.answered() {
			return r
		}
		if err := ctx.Err(); err != nil {
			r.Err = err
			return r
		}
		inDoubt = !r.OutcomeKnown
	}
	r := b.await(ctx, b.add(req))
	r.OutcomeKnown = r.OutcomeKnown && !inDoubt
	return r
}

// enter reports whether a request may go directly, and counts it.
func (b *Batcher[R, V]) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.responsive || b.crowd > few/2 || b.direct+b.batched+len(b.queue) >= few {
		return false
	}
	if b.young > 0 && time.Since(b.began) >= followAfter {
		return false // the server may not answer any more
	}
	b.direct++
	return true
}

// sendDirect sends a request on this goroutine.
func (b *Batcher[R, V]) sendDirect(ctx context.Context, req R) (r Result[V]) {
	start := time.Now()
	defer func() { // also if a hook of the client panics, and the caller recovers
		now := time.Now()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.direct--
		if r.answered() {
			b.answered, b.took, b.silent = now, now.Sub(start), false
		}
		b.responsive = r.answered() && now.Sub(start) <= responsiveWithin
	}()
	return b.cfg.Direct(b.directTimeouts.Context(ctx), req)
}

// add queues a request. A batch takes it at once if there is room.
func (b *Batcher[R, V]) add(req R) *call[R, V] {
	c, ok := b.calls.Get().(*call[R, V])
	if !ok {
		c = &call[R, V]{done: make(chan struct{}, 1)}
	}
	c.req = req
	b.mu.Lock()
	b.queue = append(b.queue, c)
	due := b.claim()
	b.mu.Unlock()
	b.start(due)
	return c
}

// await waits for the result of a call, or for the end of ctx.
func (b *Batcher[R, V]) await(ctx context.Context, c *call[R, V]) Result[V] {
	select {
	case <-c.done:
	case <-ctx.Done():
		if known, left := b.leave(c); left {
			return Result[V]{Err: ctx.Err(), OutcomeKnown: known}
		}
		<-c.done
	}
	r := c.result
	b.recycle(c)
	return r
}

// leave ends a call whose caller does not wait any more. It returns false if the call is
// done. The outcome is known if the request was not sent.
func (b *Batcher[R, V]) leave(c *call[R, V]) (outcomeKnown, left bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch c.state {
	case stateDone:
		return false, false
	case stateSent:
		c.state = stateLeft // the batch refers to it
		return false, true
	default:
		i := slices.Index(b.queue, c)
		b.queue = slices.Delete(b.queue, i, i+1)
		b.recycle(c)
		return true, true
	}
}

// recycle keeps a call for reuse, because it has a channel. Only its caller refers to it.
func (b *Batcher[R, V]) recycle(c *call[R, V]) {
	*c = call[R, V]{done: c.done}
	b.calls.Put(c)
}

// Counts returns how many messages are in flight, and how many requests are queued.
func (b *Batcher[R, V]) Counts() (inFlight, queued int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.direct + b.inFlight, len(b.queue)
}

// claim reports whether requests are queued and a batch may be sent, and counts the batch.
// The caller has the mutex.
func (b *Batcher[R, V]) claim() bool {
	if len(b.queue) == 0 || b.young > 0 || b.inFlight >= maxInFlight {
		return false
	}
	b.inFlight++
	b.young++
	b.empty++
	return true
}

// start begins to send batches on a goroutine of their own, if claim has said so.
func (b *Batcher[R, V]) start(claimed bool) {
	if claimed {
		b.cfg.Run(func() {
			for b.sendBatch() {
			}
		})
	}
}

// take returns the next batch, which is already counted. If all callers have
// left meanwhile, it returns nil.
func (b *Batcher[R, V]) take() *batch[R, V] {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.empty--
	n := min(len(b.queue), maxBatch)
	if n == 0 {
		b.inFlight--
		b.young--
		return nil
	}
	now := time.Now()
	t := &batch[R, V]{start: now, deadline: now.Add(b.cfg.Timeout), youth: b.lateAfter}
	if b.took > followAfter {
		t.youth = min(followAfter, b.lateAfter)
	}
	if b.silent {
		n = 1
		if now.Before(b.giveUp) {
			t.deadline = b.giveUp
		}
	}
	t.calls, t.reqs = slices.Clone(b.queue[:n]), make([]R, n)
	for i, c := range t.calls {
		c.state = stateSent
		t.reqs[i] = c.req
	}
	b.queue = slices.Delete(b.queue, 0, n)
	b.batched += n
	b.began = now
	b.crowd = (b.crowd + n) / 2
	return t
}

// sendBatch sends a batch. It reports whether it has claimed another one.
func (b *Batcher[R, V]) sendBatch() (again bool) {
	t := b.take()
	if t == nil {
		return false
	}
	ctx, cancel := context.WithDeadline(context.Background(), t.deadline) //nolint:forbidigo // the batch has many callers, which leave by themselves
	defer cancel()
	growing := time.AfterFunc(t.youth, func() { b.grow(t) })
	waiting := context.AfterFunc(ctx, func() { b.abandon(t) })
	results := b.cfg.Send(ctx, t.reqs)
	growing.Stop()
	return waiting() && b.end(t, results)
}

// grow lets others follow a batch, and watches whether it becomes late.
func (b *Batcher[R, V]) grow(t *batch[R, V]) {
	b.mu.Lock()
	due := false
	if !t.ended {
		t.old = true
		b.young--
		if t.youth < b.lateAfter {
			time.AfterFunc(b.lateAfter-t.youth, func() {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.miss(t)
			})
		} else {
			b.miss(t)
		}
		due = b.claim()
	}
	b.mu.Unlock()
	b.start(due)
}

// miss is called with the mutex when a batch is late.
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

// abandon ends a batch that has had no answer in time. If the server has not answered
// anything else either, the queued requests end, too: to wait as long again would not
// help.
func (b *Batcher[R, V]) abandon(t *batch[R, V]) {
	err := b.cfg.NoAnswer()
	b.mu.Lock()
	var queued []*call[R, V]
	if !b.answered.After(t.start) {
		n := min(b.empty, len(b.queue)) // a batch is about to take them
		queued, b.queue = slices.Clone(b.queue[n:]), b.queue[:n]
	}
	for _, c := range queued {
		c.state, c.result = stateDone, Result[V]{Err: err, OutcomeKnown: true}
	}
	b.mu.Unlock()
	for _, c := range queued {
		c.done <- struct{}{}
	}
	results := make([]Result[V], len(t.calls))
	for i := range results {
		results[i].Err = err
	}
	b.start(b.end(t, results))
}

// end ends a batch and gives the callers their results. It reports whether it has claimed
// the next one.
func (b *Batcher[R, V]) end(t *batch[R, V], results []Result[V]) (again bool) {
	now := time.Now()
	done, answers := 0, 0
	b.mu.Lock()
	for i, c := range t.calls {
		if results[i].answered() {
			answers++
		}
		if c.state == stateLeft {
			continue
		}
		c.state, c.result = stateDone, results[i]
		t.calls[done] = c
		done++
	}
	if answers > 0 {
		b.answered, b.took, b.silent = now, now.Sub(t.start), false
	}
	b.responsive = answers == len(results) && now.Sub(t.start) <= responsiveWithin
	t.ended = true
	b.inFlight--
	b.batched -= len(t.calls)
	if !t.old {
		b.young--
	}
	again = b.claim()
	b.mu.Unlock()
	for _, c := range t.calls[:done] {
		c.done <- struct{}{}
	}
	return again
}
