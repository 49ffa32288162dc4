package grpcmw

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

// ErrorDomain is the domain of the ErrorInfo that statuses carry.
const ErrorDomain = "github.com/distlock-go/distlock"

// The reasons in the ErrorInfo, by which clients tell these statuses from each
// other and from the handler's.
const (
	ReasonKey         = "LOCK_KEY"
	ReasonBusy        = "LOCK_BUSY"
	ReasonQueueFull   = "LOCK_QUEUE_FULL"
	ReasonUnavailable = "LOCK_UNAVAILABLE"
	ReasonLost        = "LOCK_LOST"
	ReasonInternal    = "LOCK_INTERNAL"
)

// StatusError is the default [ErrorFunc], less the method: it returns err with
// the status that the package documentation gives for it. ctx is the caller's;
// only if that has ended, and err says so, is the code Canceled or
// DeadlineExceeded, because a store's own timeouts match these errors too.
//
// The status shows nothing of err except the Detail of a [*KeyError]; neither
// does the error's text, which others may send on. [errors.Is] and [errors.As]
// find err. RetryInfo says how long the lock is held yet if the store said so,
// but at most KeyTimeout, else RetryInterval.
//
// An error of a Key that has a status of its own comes back as it is.
func StatusError(ctx context.Context, err error) error {
	retry := distlock.DefaultRetryInterval
	if hint := new(lockError); errors.As(err, &hint) {
		retry = hint.retryAfter
	}
	ended := ctx.Err()
	switch {
	case errors.Is(err, distlock.ErrKey):
		text := "invalid request"
		if k := new(KeyError); errors.As(err, &k) {
			text = k.Detail
		}
		return newStatusError(err, codes.InvalidArgument, text, ReasonKey, 0)
	case errors.Is(err, distlock.ErrLost):
		return newStatusError(err, codes.Unavailable, "the lock was lost: the outcome is in doubt", ReasonLost, 0)
	case ended != nil && errors.Is(err, ended):
		st := status.FromContextError(ended)
		return newStatusError(err, st.Code(), "ended before the lock was got", ReasonBusy, 0)
	case errors.Is(err, distlock.ErrUnavailable), errors.Is(err, distlock.ErrClosed):
		return newStatusError(err, codes.Unavailable, "locks are temporarily unavailable", ReasonUnavailable, retry)
	case errors.Is(err, distlock.ErrQueueFull):
		return newStatusError(err, codes.ResourceExhausted, "too many calls are waiting", ReasonQueueFull, retry)
	case errors.Is(err, distlock.ErrNotAcquired):
		return newStatusError(err, codes.Aborted, "busy with another call", ReasonBusy, retry)
	case hasStatus(err):
		return err
	default:
		return newStatusError(err, codes.Internal, "internal error", ReasonInternal, 0)
	}
}

// statusError has the status that clients see and, for [errors.Is], the error
// that it was made of.
type statusError struct {
	status *status.Status
	err    error
}

func newStatusError(err error, code codes.Code, text, reason string, retry time.Duration) error {
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: reason, Domain: ErrorDomain}}
	if retry > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(retry)})
	}
	st := status.New(code, text)
	if detailed, err := st.WithDetails(details...); err == nil {
		st = detailed
	}
	return &statusError{st, err}
}

// Error does not show the error inside: gRPC sends this text to the client if
// somebody wraps the error once more.
func (e *statusError) Error() string { return e.status.Err().Error() }

// GRPCStatus is how package status finds the status.
func (e *statusError) GRPCStatus() *status.Status { return e.status }

// Unwrap returns what the status was made of.
func (e *statusError) Unwrap() error { return e.err }

func hasStatus(err error) bool {
	var s interface{ GRPCStatus() *status.Status }
	return errors.As(err, &s)
}

// lockError is an error of the lock, with what only the call site knows.
type lockError struct {
	error
	retryAfter time.Duration
}

func (e *lockError) Unwrap() error { return e.error }

func (c *call) lockError(err error) error {
	return &lockError{err, c.guard.RetryAfter(err)}
}
