package grpcmw

import (
	"context"
	"errors"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/fence"
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

// answer is the status for a code of [distlock.CodeOf].
type answer struct {
	code   codes.Code
	text   string
	reason string
	retry  bool // with RetryInfo: nothing was done
}

// answers has the statuses; all other codes are internal. A lost lock has the code
// that no retry policy contains: docs/operations.md has the table.
var answers = map[distlock.Code]answer{
	distlock.CodeLost:        {codes.FailedPrecondition, "the lock was lost: the outcome is in doubt", ReasonLost, false},
	distlock.CodeKey:         {codes.InvalidArgument, "invalid request", ReasonKey, false},
	distlock.CodeReentry:     {codes.FailedPrecondition, "the caller holds the lock", ReasonReentry, false},
	distlock.CodeClosed:      {codes.Unavailable, "locks are temporarily unavailable", ReasonUnavailable, true},
	distlock.CodeUnavailable: {codes.Unavailable, "locks are temporarily unavailable", ReasonUnavailable, true},
	distlock.CodeQueueFull:   {codes.ResourceExhausted, "too many calls are waiting", ReasonQueueFull, true},
	distlock.CodeNotAcquired: {codes.Aborted, "busy with another call", ReasonBusy, true},
}

// begun is for an error that a function has returned, such as the refusal of another lock: what
// the function did before is not undone.
var begun = answer{codes.FailedPrecondition, "the call failed after its work had begun: the outcome is in doubt", ReasonLost, false}

var internal = answer{codes.Internal, "internal error", ReasonInternal, false}

// StatusError returns err with the status that the package documentation says, as the
// interceptors do. ctx is the caller's. The code is Canceled or DeadlineExceeded only if ctx
// has ended and err says so.
//
// The status shows nothing of err except the Detail of a [*distlock.KeyError], and
// neither does the text of the error, which others may send on. [errors.Is] and
// [errors.As] find err. RetryInfo is the RetryAfter of the [*distlock.Error], or
// [distlock.DefaultRetryInterval] if the error has none.
//
// If the function ran, see [distlock.Ran], there is no RetryInfo. An error of a Key with a
// status of its own is returned unchanged.
func StatusError(ctx context.Context, err error) error {
	code := distlock.CodeOf(err)
	a, known := answers[code]
	if code == distlock.CodeOther {
		a, known = ofTicket(err)
	}
	switch ended := ctx.Err(); {
	case code == distlock.CodeLost, code == distlock.CodeOther && known:
	case known && distlock.Ran(err):
		a = begun
	case code == distlock.CodeKey:
		if k := new(distlock.KeyError); errors.As(err, &k) {
			a.text = k.Detail
		}
	case ended != nil && errors.Is(err, ended):
		a = answer{status.FromContextError(ended).Code(), "ended before the lock was got", ReasonBusy, false}
	case !known && hasStatus(err):
		return err
	case !known:
		a = internal
	}
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: a.reason, Domain: ErrorDomain}}
	if a.retry {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(request.RetryAfter(err))})
	}
	st := status.New(a.code, a.text)
	if detailed, err := st.WithDetails(details...); err == nil {
		st = detailed
	}
	return &statusError{st, err}
}

// ofTicket returns the answer for an error of package fence.
func ofTicket(err error) (_ answer, ok bool) {
	wrong := new(fence.TicketError)
	switch {
	case errors.Is(err, fence.ErrStale):
		return answer{codes.FailedPrecondition, "a later holder of the lock was here", ReasonStale, false}, true
	case errors.As(err, &wrong):
		return answer{codes.Unauthenticated, "the ticket " + wrong.Detail, ReasonTicket, false}, true
	default:
		return answer{}, false
	}
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
