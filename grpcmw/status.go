package grpcmw

import (
	"cmp"
	"context"
	"errors"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/request"
)

// ErrorDomain is the domain of the ErrorInfo in the statuses.
const ErrorDomain = "github.com/distlock-go/distlock"

// The reasons in the ErrorInfo. They tell clients one status from another, and from those
// of the handler.
const (
	ReasonKey         = "LOCK_KEY"
	ReasonBusy        = "LOCK_BUSY"
	ReasonQueueFull   = "LOCK_QUEUE_FULL"
	ReasonUnavailable = "LOCK_UNAVAILABLE"
	ReasonLost        = "LOCK_LOST"
	ReasonStale       = "LOCK_STALE"
	ReasonTicket      = "LOCK_TICKET"
	ReasonReentry     = "LOCK_REENTRY"
	ReasonInternal    = "LOCK_INTERNAL"
)

// answer is the status for a code.
type answer struct {
	code   codes.Code
	text   string
	reason string
}

// answers has the statuses; all other codes are internal. A lost lock has the code
// that no retry policy contains: docs/operations.md has the table.
var answers = map[distlock.Code]answer{
	distlock.CodeLost:        {codes.FailedPrecondition, "the lock was lost: the outcome is in doubt", ReasonLost},
	request.CodeBegun:        {codes.FailedPrecondition, "the call failed after its work had begun: the outcome is in doubt", ReasonLost},
	request.CodeStale:        {codes.FailedPrecondition, "a later holder of the lock was here", ReasonStale},
	request.CodeTicket:       {codes.Unauthenticated, "", ReasonTicket},
	distlock.CodeKey:         {codes.InvalidArgument, "invalid request", ReasonKey},
	distlock.CodeReentry:     {codes.FailedPrecondition, "the caller holds the lock", ReasonReentry},
	distlock.CodeClosed:      {codes.Unavailable, "locks are temporarily unavailable", ReasonUnavailable},
	distlock.CodeUnavailable: {codes.Unavailable, "locks are temporarily unavailable", ReasonUnavailable},
	distlock.CodeQueueFull:   {codes.ResourceExhausted, "too many calls are waiting", ReasonQueueFull},
	distlock.CodeNotAcquired: {codes.Aborted, "busy with another call", ReasonBusy},
}

// StatusError returns err with the status that the package documentation says, as the
// interceptors do. ctx is the caller's. The code is Canceled or DeadlineExceeded only if ctx
// has ended and err says so. A handler that runs under a lock, says ctx, has begun its work: if
// another lock refuses it, the reason is LOCK_LOST.
//
// The status shows nothing of err except the Detail of a [*distlock.KeyError], and
// neither does the text of the error, which others may send on. [errors.Is] and
// [errors.As] find err. RetryInfo is the RetryAfter of the [*distlock.Error], or
// [distlock.DefaultRetryInterval] if the error has none.
//
// If the function ran, see [distlock.Ran], there is no RetryInfo. An error of a Key with a
// status of its own is returned unchanged.
func StatusError(ctx context.Context, err error) error {
	return statusOf(ctx, request.AnswerOf(ctx, err), err)
}

func statusOf(ctx context.Context, a request.Answer, err error) error {
	s, known := answers[a.Code]
	switch ended := ctx.Err(); {
	case ended != nil && errors.Is(err, ended) && (!known || a.RetryAfter > 0):
		a.RetryAfter, s = 0, answer{status.FromContextError(ended).Code(), "ended before the lock was got", ReasonBusy}
	case !known && hasStatus(err):
		return err
	case !known:
		s = answer{codes.Internal, "internal error", ReasonInternal}
	}
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: s.reason, Domain: ErrorDomain}}
	if a.RetryAfter > 0 { // nothing was done
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(a.RetryAfter)})
	}
	st := status.New(s.code, cmp.Or(a.Detail, s.text))
	if detailed, err := st.WithDetails(details...); err == nil {
		st = detailed
	}
	return &statusError{st, err}
}

// statusError has the status for clients and, for [errors.Is], the original error.
type statusError struct {
	status *status.Status
	err    error
}

// Error does not show the error inside: gRPC sends this text to the client if the error
// is wrapped once more.
func (e *statusError) Error() string { return e.status.Err().Error() }

// GRPCStatus returns the status for package status.
func (e *statusError) GRPCStatus() *status.Status { return e.status }

// Unwrap returns the original error.
func (e *statusError) Unwrap() error { return e.err }

func hasStatus(err error) bool {
	var s interface{ GRPCStatus() *status.Status }
	return errors.As(err, &s)
}
