package dispatch

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/distlock-go/distlock/internal/rolling"
)

const (
	// DirectTimeout is how long Direct may take.
	DirectTimeout = 50 * time.Millisecond

	// A server is responsive if its last answer took no longer than this.
	responsiveWithin = 25 * time.Millisecond

	// followAfter is when another message may follow one to a server nearby that has no answer
	// yet. Until then there is one at a time, unless it is crowded, and meanwhile the next one
	// fills. A server is distant if the round trip is longer: then messages follow at once.
	followAfter = 300 * time.Microsecond

	// perRequest is what a request adds to the round trip at most.
	perRequest = 8 * time.Microsecond

	// A leader does not yield if the last answer took longer than this.
	yieldWithin = time.Millisecond

	// company is for how many messages a leader expects others after it met some.
	company = 16

	// MaxInFlight is how many messages are on their way to a server at most.
	MaxInFlight = 16

	maxBatch = 128 // requests

	// maxCrowded is how many messages are on their way to a server nearby at most, where so
	// many callers wait that half a message is full.
	maxCrowded = 4
)

// Config configures a [Batcher].
type Config[R, V any] struct {
	// Direct sends the requests at once on the goroutine of a caller. It must return within
	// DirectTimeout, even if the server does not answer. It writes to results what Send
	// returns, and keeps neither slice. It is nil if that is not possible. It has no effect
	// unless Timeout is longer than DirectTimeout.
	Direct func(ctx context.Context, reqs []R, results []Result[V])

	// Send sends the requests at once and returns a Result for each, in the same order. It
	// sets Sent if the server has answered the request, and OutcomeKnown unless the request
	// can still reach the server. It is abandoned when ctx ends: it goes on, but its results
	// are dropped.
	Send func(ctx context.Context, reqs []R) []Result[V]

	// Timeout is how long Send may take.
	Timeout time.Duration

	// Run runs a function on another goroutine. It must not block.
	Run func(func())

	// Slow is called when half of Timeout has passed without an answer to Send. It may
	// block.
	Slow func()

	// NoAnswer is called when Timeout has passed without an answer to Send. It returns
	// the error for the callers.
	NoAnswer func() error
}

// Batcher sends requests to one server. It is safe for concurrent use.
//
// A caller that finds no message in flight leads: it sends its own request, and those that
// came at the same moment, on its own goroutine. Callers that come meanwhile queue. When the
// answer is there, the first of them leads, and takes all the others along. So a lone caller
// pays for nothing, and many share the cost of a message.
//
// A leader may exceed its context by DirectTimeout. That happens once: the server is not
// responsive afterwards. Then messages have goroutines of their own, which are abandoned if
// they are late. What had no answer is sent again, so only idempotent requests go directly.
//
// A caller whose message goes directly does not look at its context meanwhile: that costs more
// than to wait for an answer. When there is none, it is told to.
//
// A connection may fail while such a message is in flight. So a message without an answer
// becomes late: others may overtake it. Until the server answers again, they have one
// request each: if it is the server that does not answer, few requests are in doubt.
type Batcher[R, V any] struct {
	cfg            Config[R, V]
	lateAfter      time.Duration
	directTimeouts *rolling.Timeout
	calls, batches sync.Pool

	mu         sync.Mutex
	queue      []*call[R, V]
	inFlight   int // messages
	young, old int // those of them with goroutines of their own: others may not follow yet, or may
	company    int // for how many messages leaders expect others
	responsive bool
	began      time.Time     // when the last message was sent
	answered   time.Time     // the time of the last answer
	took       time.Duration // it
	rtt        time.Duration // the estimate of measure
	silent     bool          // there was no answer since a message became late
	giveUp     time.Time     // if it is silent: the deadline of that message
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

// Do sends a request and returns its result. If ctx ends first, it returns within DirectTimeout.
// Then the request may still be carried out, unless the result says
// that the outcome is known. A request that is not idempotent is sent once only.
//
// Do returns within Timeout and DirectTimeout after the request was sent. Before that, the
// request may be queued, but for no longer than Timeout while the server answers nothing at
// all.
func (b *Batcher[R, V]) Do(ctx context.Context, req R, idempotent bool) Result[V] {
	if err := ctx.Err(); err != nil {
		return Result[V]{Err: err, OutcomeKnown: true}
	}
	c, ok := b.calls.Get().(*call[R, V])
	if !ok {
		c = &call[R, V]{signals: make(chan signal, 2)}
	}
	c.req, c.once = req, !idempotent
	b.mu.Lock()
	leads := b.claim()
	if leads {
		c.state = stateLeads
	} else {
		b.queue = append(b.queue, c)
		b.company = company
		c.patient = b.directly()
	}
	patient := c.patient
	b.mu.Unlock()
	if leads {
		b.lead(c)
	}
	return b.await(ctx, c, patient)
}

// await waits for the result of a call or, if the caller is not patient, for the end of ctx. The
// caller may have to lead meanwhile.
func (b *Batcher[R, V]) await(ctx context.Context, c *call[R, V], patient bool) Result[V] {
	for {
		if patient {
			patient = <-c.signals != noAnswerYet
			if !patient {
				continue
			}
		} else if known, left := b.watch(ctx, c); left {
			return Result[V]{Err: ctx.Err(), OutcomeKnown: known}
		}
		switch {
		case c.state == stateDone:
			r := c.result
			b.recycle(c)
			return r
		case ctx.Err() != nil:
			return Result[V]{Err: ctx.Err(), OutcomeKnown: b.resign(c)}
		default:
			b.lead(c)
		}
	}
}

// watch waits until the call is done or its caller has to lead. It returns left if ctx ended
// before, and whether the outcome is known then.
func (b *Batcher[R, V]) watch(ctx context.Context, c *call[R, V]) (outcomeKnown, left bool) {
	select {
	case <-c.signals: // it has led: most contexts make their channel when they are asked for it
		return false, false
	default:
	}
	select {
	case <-c.signals:
		return false, false
	case <-ctx.Done():
		outcomeKnown, left = b.leave(c)
		if !left {
			<-c.signals
		}
		return outcomeKnown, left
	}
}

// resign ends a call whose caller does not wait any more, and lets another one lead. It
// returns whether the outcome is known.
func (b *Batcher[R, V]) resign(c *call[R, V]) (outcomeKnown bool) {
	b.mu.Lock()
	b.inFlight--
	outcomeKnown = !c.inDoubt
	b.recycle(c)
	b.mu.Unlock()
	b.next()
	return outcomeKnown
}

// hurry tells the callers to look at their contexts. The caller has the mutex.
func (b *Batcher[R, V]) hurry(calls []*call[R, V]) {
	for _, c := range calls {
		if c.patient {
			c.patient = false
			c.signals <- noAnswerYet
		}
	}
}

// leave ends a call whose caller does not wait any more. It returns false if the call is
// done, or leads. The outcome is known if the request was not sent.
func (b *Batcher[R, V]) leave(c *call[R, V]) (outcomeKnown, left bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch c.state {
	case stateDone, stateLeads:
		return false, false
	case stateSent:
		c.state = stateLeft // the message refers to it
		return false, true
	default:
		i := slices.Index(b.queue, c)
		b.queue = slices.Delete(b.queue, i, i+1)
		known := !c.inDoubt
		b.recycle(c)
		return known, true
	}
}

// recycle keeps a call for reuse, because it has a channel. Only its caller refers to it.
func (b *Batcher[R, V]) recycle(c *call[R, V]) {
	*c = call[R, V]{signals: c.signals}
	b.calls.Put(c)
}

// Counts returns how many messages are in flight, and how many requests are queued.
func (b *Batcher[R, V]) Counts() (inFlight, queued int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inFlight, len(b.queue)
}

// claim reports whether a message may be sent, and counts it. The caller has the mutex.
func (b *Batcher[R, V]) claim() bool {
	switch {
	case b.directly():
		n := b.inFlight - b.old // the others may have lost their connections
		if n > 0 && !b.distant() && !b.crowded() && (n > 1 || time.Since(b.began) < followAfter) {
			return false
		}
	case b.young > 0:
		return false
	}
	if b.inFlight >= MaxInFlight {
		return false
	}
	b.inFlight++
	return true
}

// crowded reports whether so many wait that another message to a server nearby is worth its
// price: while one is answered, the server works on the next.
func (b *Batcher[R, V]) crowded() bool {
	return len(b.queue) >= maxBatch/2 && b.inFlight < maxCrowded
}

// distant reports whether another message need not wait for the answer to the last one.
func (b *Batcher[R, V]) distant() bool { return b.rtt > followAfter }

// measure estimates the round trip from an answer to n requests. The fastest answers count: a
// machine that is busy only makes others slow.
func (b *Batcher[R, V]) measure(n int) {
	rtt := max(b.took-time.Duration(n)*perRequest, 0)
	b.rtt = min(rtt, b.rtt+(rtt-b.rtt)/64)
}

// directly reports whether messages go directly.
func (b *Batcher[R, V]) directly() bool {
	return b.cfg.Direct != nil && b.responsive && b.young == 0
}

// next lets the first queued caller lead, if there is one and a message may be sent.
func (b *Batcher[R, V]) next() {
	b.mu.Lock()
	c := b.choose()
	b.mu.Unlock()
	if c != nil {
		c.signals <- proceed
	}
}

// choose returns the caller that leads next, or nil. The caller of choose has the mutex.
func (b *Batcher[R, V]) choose() *call[R, V] {
	if len(b.queue) == 0 || !b.claim() {
		return nil
	}
	c := b.queue[0]
	b.queue = slices.Delete(b.queue, 0, 1)
	c.state = stateLeads
	return c
}

// lead sends a message with c and what is queued. The caller of c calls it.
func (b *Batcher[R, V]) lead(c *call[R, V]) {
	if b.inCompany() {
		runtime.Gosched() // those that got their answers at the same time are about to come
	}
	t := b.take(c)
	if !t.direct {
		b.cfg.Run(func() { b.sendBatch(t) })
		return
	}
	returned := false
	defer func() {
		if !returned { // a hook of the client panics, and the caller may recover
			b.leave(c)
			clear(t.results)
		}
		b.end(t, t.results)
		b.batches.Put(t) // nobody else refers to it
	}()
	b.cfg.Direct(b.directTimeouts.Context(context.Background(), t.start), t.reqs, t.results) //nolint:forbidigo // the message has many callers, which leave by themselves
	returned = true
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
