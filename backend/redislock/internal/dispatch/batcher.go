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

	// Slow is called when half of Timeout has passed without an answer to Send. It may
	// block.
	Slow func()

	// NoAnswer is called when Timeout has passed without an answer to Send. It returns
	// the error for the callers.
	NoAnswer func() error
}

// Batcher sends requests to one server. It is safe for concurrent use.
//
// A caller that finds no message in flight leads: it sends its own request, and the others that
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
	young, old int // messages with goroutines of their own: others may not follow yet, or may
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
