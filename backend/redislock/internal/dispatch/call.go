package dispatch

import "time"

// Result is what is known of a request.
type Result[V any] struct {
	Value V
	Err   error

	// Sent is the time just before the copy of the request was sent that the server
	// answered. It is zero if there is no answer.
	Sent time.Time

	// OutcomeKnown says that no copy of the request can still reach the server: each
	// was answered, or was not sent.
	OutcomeKnown bool
}

func (r *Result[V]) answered() bool { return !r.Sent.IsZero() }

// call is one call of Do.
type call[R, V any] struct {
	req        R
	idempotent bool
	events     chan event

	// Guarded by the mutex of the Batcher. After eventDone they are the caller's.
	state   state
	inDoubt bool // a copy was sent inline that can still reach the server
	result  Result[V]
}

// state is the state of a call.
type state int

const (
	stateQueued state = iota
	stateLeader       // not queued any more: its caller was told to send the next batch
	stateSent
	stateDone
	stateLeft // its caller has left while it was in flight
)

// event is what the caller of Do waits for.
type event int

const (
	eventDone event = iota // the result is there
	eventLead              // send the next batch
)

// batch is requests that are sent together.
type batch[R, V any] struct {
	calls []*call[R, V]
	reqs  []R // of the calls

	start    time.Time
	deadline time.Time // unless it is inline
	inline   bool      // it is sent on the goroutine of a caller
	alone    bool      // nothing else was in flight when it was sent

	// Guarded by the mutex of the Batcher.
	late  bool // others may overtake it
	ended bool
}

// add adds a call.
func (t *batch[R, V]) add(c *call[R, V]) {
	c.state = stateSent
	t.calls, t.reqs = append(t.calls, c), append(t.reqs, c.req)
	t.inline = t.inline && c.idempotent
}

// reset makes the batch empty.
func (t *batch[R, V]) reset() {
	clear(t.calls)
	clear(t.reqs)
	*t = batch[R, V]{calls: t.calls[:0], reqs: t.reqs[:0]}
}
