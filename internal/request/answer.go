package request

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/fence"
)

// The codes of what only a server answers, beside those of package distlock.
const (
	CodeBegun  distlock.Code = -1 - iota // a function has returned the error: what it did before is not undone
	CodeStale                            // the data have seen a later holder
	CodeTicket                           // a ticket is missing, or not in order
)

// Answer is what a client may know of an error.
type Answer struct {
	Code       distlock.Code
	Detail     string        // of a bad key or ticket
	RetryAfter time.Duration // of a refusal that may pass, before which nothing was done; or 0
}

// AnswerOf returns the answer for an error.
func AnswerOf(err error) Answer {
	a := Answer{Code: distlock.CodeOf(err)}
	key, ticket := new(distlock.KeyError), new(fence.TicketError)
	switch {
	case a.Code == distlock.CodeLost:
	case a.Code == distlock.CodeOther && errors.Is(err, fence.ErrStale):
		a.Code = CodeStale
	case a.Code == distlock.CodeOther && errors.As(err, &ticket):
		a.Code, a.Detail = CodeTicket, "the ticket "+ticket.Detail
	case a.Code != distlock.CodeOther && distlock.Ran(err):
		a.Code = CodeBegun
	case a.Code == distlock.CodeKey && errors.As(err, &key):
		a.Detail = key.Detail
	case a.Code == distlock.CodeNotAcquired, a.Code == distlock.CodeQueueFull,
		a.Code == distlock.CodeUnavailable, a.Code == distlock.CodeClosed:
		a.RetryAfter = distlock.DefaultRetryInterval
		if e := new(distlock.Error); errors.As(err, &e) && e.RetryAfter > 0 {
			a.RetryAfter = e.RetryAfter
		}
	}
	return a
}

// Begun returns err as the error of code that runs under a lock, if ctx is the context of such
// code and err says that nothing was done: that is true of another lock, and not of the code.
func Begun(ctx context.Context, err error) error {
	if lease, held := distlock.FromContext(ctx); held && AnswerOf(err).RetryAfter > 0 {
		return &distlock.Error{Op: "hold", Key: lease.Key(), Err: err}
	}
	return err
}
