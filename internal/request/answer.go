package request

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/fence"
	"github.com/distlock-go/distlock/internal/leasestate"
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

// AnswerOf returns the answer for an error, in the place of which ctx is the context. Code that
// runs under a lock has begun: that another lock refuses it does not say that nothing was done.
func AnswerOf(ctx context.Context, err error) Answer {
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
	if _, begun := distlock.FromContext(ctx); begun && a.RetryAfter > 0 {
		return Answer{Code: CodeBegun}
	}
	return a
}

// Lost returns why the lease of ctx was lost, or nil. A lease that was given back is not lost.
func Lost(ctx context.Context) error {
	why := context.Cause(ctx)
	if !errors.Is(why, distlock.ErrLost) || errors.Is(why, leasestate.ErrReleased) {
		return nil
	}
	return why
}
