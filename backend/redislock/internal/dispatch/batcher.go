package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/distlock-go/distlock/internal/rolling"
)

const (
	// InlineTimeout is how long Send may take on a caller's goroutine.
	InlineTimeout = 50 * time.Millisecond

	// A server is responsive if its last answer took no longer than this.
	responsiveWithin = 10 * time.Millisecond

	maxBatch = 128 // requests
)

// Config configures a [Batcher].
type Config[R, V any] struct {
	// Send sends the requests at once and returns a Result for each, in the same order. It
	// sets Sent if the server has answered the request, and OutcomeKnown unless the request
	// can still reach the server.
	//
	// If inline is true, Send runs on the goroutine of a caller. It must return within
	// InlineTimeout, even if the server does not answer. Otherwise it runs on a goroutine
	// of its own, and is abandoned when ctx ends: it goes on, but its results are dropped.
	// It must not use reqs after it has returned.
	Send func(ctx context.Context, inline bool, reqs []R) []Result[V]

	// CanInline says that Send accepts inline. It has no effect unless Timeout is longer
	// than InlineTimeout.
	CanInline bool

	// Timeout is how long a batch may take that is not sent inline.
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
// To pass a request to another goroutine and back costs as much as the request. So a batch
// for a responsive server is sent inline: on the goroutine of one of its callers, with a
// short timeout. Requests that get no answer in this way are sent again on a goroutine of
// their own, so only idempotent requests are sent inline. An inline batch may make its
// caller exceed its context by InlineTimeout. That happens once: the server is not
// responsive afterwards.
//
// A connection may fail while a batch is in flight. So a batch without an answer becomes
// late: others may overtake it. Until the server answers again, they have one request
// each: if it is the server that does not answer, few requests are in doubt.
type Batcher[R, V any] struct {
	cfg            Config[R, V]
	lateAfter      time.Duration
	inlineTimeouts *rolling.Timeout
	calls, batches sync.Pool

	mu         sync.Mutex
	queue      []*call[R, V]
	inFlight   int // batches, without late ones
	late       int // batches
	distance   distance
	responsive bool
	answered   time.Time // the time of the last answer
	silent     bool      // there was no answer since a batch became late
	giveUp     time.Time // if it is silent: the deadline of that batch
}

// New returns a Batcher.
func New[R, V any](cfg Config[R, V]) *Batcher[R, V] {
	cfg.CanInline = cfg.CanInline && cfg.Timeout > InlineTimeout
	return &Batcher[R, V]{
		cfg:            cfg,
		lateAfter:      min(InlineTimeout, cfg.Timeout/2),
		inlineTimeouts: rolling.New(InlineTimeout),
	}
}

// Do sends a request and returns its result. If ctx ends first, it returns at once. Then
// the request may still be carried out, unless the result says that the outcome is known.
// A request that is not idempotent is sent once only.
//
// Do returns within Timeout after the request was sent. Before that, the request may be
// queued, but for no longer than Timeout while the server answers nothing at all.
func (b *Batcher[R, V]) Do(ctx context.Context, req R, idempotent bool) Result[V] {
	if err := ctx.Err(); err != nil {
		return Result[V]{Err: err, OutcomeKnown: true}
	}
	c, ok := b.calls.Get().(*call[R, V])
	if !ok {
		c = &call[R, V]{events: make(chan event, 1)}
	}
	c.req, c.idempotent = req, idempotent

	b.mu.Lock()
	lead := b.hasRoom()
	if lead {
		b.inFlight++
	} else {
		c.state = stateQueued
		b.queue = append(b.queue, c)
		b.mu.Unlock()
	}
	for {
		if lead {
			t := b.take(c)
			b.mu.Unlock()
			b.send(ctx, t)
		}
		var e event
		select {
		case e = <-c.events:
		case <-ctx.Done():
			if r, left := b.leave(ctx, c); left {
				return r
			}
			e = <-c.events
		}
		if e == eventDone {
			r := c.result
			b.recycle(c)
			return r
		}
		b.mu.Lock()
		lead = true
	}
}

// recycle keeps a call for reuse, because it has a channel. Only its caller refers to it.
func (b *Batcher[R, V]) recycle(c *call[R, V]) {
	*c = call[R, V]{events: c.events}
	b.calls.Put(c)
}

// Counts returns how many batches are in flight, and how many requests are queued.
func (b *Batcher[R, V]) Counts() (inFlight, queued int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inFlight + b.late, len(b.queue)
}

// hasRoom reports whether another batch may be sent. The caller has the mutex.
func (b *Batcher[R, V]) hasRoom() bool {
	return b.inFlight < b.distance.limit() && b.inFlight+b.late < maxInFlight
}

// canInline reports whether a batch may be sent inline. The caller has the mutex.
func (b *Batcher[R, V]) canInline() bool { return b.cfg.CanInline && b.responsive }

// take returns the next batch: the given call and those that are queued. It is already
// counted in inFlight. The caller has the mutex.
func (b *Batcher[R, V]) take(first *call[R, V]) *batch[R, V] {
	t, ok := b.batches.Get().(*batch[R, V])
	if !ok {
		t = new(batch[R, V])
	}
	now := time.Now()
	t.start, t.deadline = now, now.Add(b.cfg.Timeout)
	t.inline, t.alone = b.canInline(), b.inFlight == 1
	n := min(len(b.queue), b.distance.batchSize()-1)
	if b.silent {
		n = 0
		if now.Before(b.giveUp) {
			t.deadline = b.giveUp
		}
	}
	t.calls, t.reqs = slices.Grow(t.calls, n+1), slices.Grow(t.reqs, n+1)
	t.add(first)
	for _, c := range b.queue[:n] {
		t.add(c)
	}
	b.queue = slices.Delete(b.queue, 0, n)
	return t
}

// next prepares the next batch if requests are queued and there is room. It returns a
// call whose caller has to send it or, if that cannot be inline, the batch. The caller has
// the mutex, and calls start without it.
func (b *Batcher[R, V]) next() (leader *call[R, V], t *batch[R, V]) {
	if len(b.queue) == 0 || !b.hasRoom() {
		return nil, nil
	}
	b.inFlight++
	first := b.queue[0]
	b.queue = slices.Delete(b.queue, 0, 1)
	if b.canInline() {
		first.state = stateLeader
		return first, nil
	}
	return nil, b.take(first)
}

// start starts what next has returned.
func (b *Batcher[R, V]) start(leader *call[R, V], t *batch[R, V]) {
	switch {
	case leader != nil:
		leader.events <- eventLead
	case t != nil:
		b.sendAsync(t)
	}
}

// leave ends a call because ctx has ended. It returns false if the call is done.
func (b *Batcher[R, V]) leave(ctx context.Context, c *call[R, V]) (r Result[V], left bool) {
	r = Result[V]{Err: ctx.Err()}
	b.mu.Lock()
	switch c.state {
	case stateDone:
		b.mu.Unlock()
		return r, false
	case stateSent:
		c.state = stateLeft
		b.mu.Unlock()
		return r, true // the batch refers to the call
	case stateLeader:
		b.inFlight--
		leader, next := b.next()
		b.mu.Unlock()
		b.start(leader, next) // another caller must send the queued requests
		<-c.events
	default:
		i := slices.Index(b.queue, c)
		b.queue = slices.Delete(b.queue, i, i+1)
		b.mu.Unlock()
	}
	b.recycle(c)
	r.OutcomeKnown = true
	return r, true
}

// send sends a batch.
func (b *Batcher[R, V]) send(ctx context.Context, t *batch[R, V]) {
	if t.inline {
		b.sendInline(ctx, t)
	} else {
		b.sendAsync(t)
	}
}

var errPanic = errors.New("the goroutine that sent the request has ended with a panic")

// sendInline sends a batch on this goroutine, and sends requests without an answer again
// on another one.
func (b *Batcher[R, V]) sendInline(ctx context.Context, t *batch[R, V]) {
	returned := false
	defer func() {
		if !returned { // Send has panicked, and the caller of Do may recover
			b.fail(t, errPanic)
		}
	}()
	results := b.cfg.Send(b.inlineTimeouts.Context(ctx), true, t.reqs)
	returned = true
	if again := b.end(t, results); again != nil {
		b.sendAsync(again)
	}
	t.reset()
	b.batches.Put(t)
}

// sendAsync sends a batch on a goroutine of its own, which is abandoned if it is late.
func (b *Batcher[R, V]) sendAsync(t *batch[R, V]) {
	ctx, cancel := context.WithDeadline(context.Background(), t.deadline) //nolint:forbidigo // the batch has many callers, which leave by themselves
	late := time.AfterFunc(b.lateAfter, func() { b.overtake(t) })
	waiting := context.AfterFunc(ctx, func() { b.abandon(t) })
	b.cfg.Run(func() {
		defer cancel()
		results := b.cfg.Send(ctx, false, t.reqs)
		late.Stop()
		if waiting() {
			b.end(t, results)
		}
	})
}

// overtake lets others overtake a batch that is late.
func (b *Batcher[R, V]) overtake(t *batch[R, V]) {
	time.AfterFunc(b.cfg.Timeout/2-b.lateAfter, func() {
		b.mu.Lock()
		ended := t.ended
		b.mu.Unlock()
		if !ended {
			b.cfg.Slow()
		}
	})
	b.mu.Lock()
	if t.ended || t.late {
		b.mu.Unlock()
		return
	}
	b.inFlight--
	b.setLate(t)
	leader, next := b.next()
	b.mu.Unlock()
	b.start(leader, next)
}

// setLate counts t as late. The caller has the mutex.
func (b *Batcher[R, V]) setLate(t *batch[R, V]) {
	t.late = true
	b.late++
	b.responsive = false
	b.silent, b.giveUp = true, t.deadline
}

// abandon ends a batch that has had no answer in time. If the server has not answered
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
		c.state, c.result = stateDone, Result[V]{Err: err, OutcomeKnown: true}
	}
	b.mu.Unlock()
	for _, c := range queued {
		c.events <- eventDone
	}
	b.fail(t, err)
}

// fail ends a batch whose requests have no answer.
func (b *Batcher[R, V]) fail(t *batch[R, V], err error) {
	results := make([]Result[V], len(t.calls))
	for i := range results {
		results[i].Err = err
	}
	t.inline = false // not again
	b.end(t, results)
}

// end ends a batch and gives the callers their results. It returns the requests of an
// inline batch that must be sent again. The caller that sends the next batch is told last:
// then its goroutine runs first.
func (b *Batcher[R, V]) end(t *batch[R, V], results []Result[V]) (again *batch[R, V]) {
	now := time.Now()
	took := now.Sub(t.start)
	done, answers := 0, 0
	b.mu.Lock()
	for i, c := range t.calls {
		r := results[i]
		if r.answered() {
			answers++
		}
		switch {
		case c.state == stateLeft:
		case t.inline && !r.answered():
			c.inDoubt = !r.OutcomeKnown
			if again == nil {
				again = &batch[R, V]{start: now, deadline: now.Add(b.cfg.Timeout)}
			}
			again.add(c)
		default:
			r.OutcomeKnown = r.OutcomeKnown && !c.inDoubt
			c.state, c.result = stateDone, r
			t.calls[done] = c
			done++
		}
	}
	if answers > 0 {
		b.answered, b.silent = now, false
	}
	b.responsive = answers == len(results) && took <= responsiveWithin
	if answers == len(results) {
		b.distance.observe(now, took, t.alone)
	}
	t.ended = true
	if t.late {
		b.late--
	} else {
		b.inFlight--
	}
	if again != nil {
		b.setLate(again)
	}
	leader, next := b.next()
	b.mu.Unlock()
	for _, c := range t.calls[:done] {
		c.events <- eventDone
	}
	b.start(leader, next)
	return again
}
