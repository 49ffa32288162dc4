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

// call is a request in the queue or in a message.
type call[R, V any] struct {
	req  R
	once bool // it must not be sent twice

	signals chan signal // room for one of each

	// Guarded by the mutex of the Batcher. When the call is done or leads they are the
	// caller's.
	patient bool // its caller does not look at its context
	state   state
	inDoubt bool // it was sent, and may still reach the server
	result  Result[V]
}

// signal is what the caller of a call is told.
type signal int

const (
	proceed     signal = iota // the result is there, or the caller has to lead
	noAnswerYet               // it may take long: the caller looks at its context from now on
)

// state is the state of a call.
type state int

const (
	stateQueued state = iota
	stateLeads        // its caller sends the next message
	stateSent
	stateDone
	stateLeft // its caller has left while it was in flight
)
