package main

import (
	"context"
	"errors"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/httpmw"
)

// HTTP answers of the shop itself. Clients distinguish them by type.
var (
	badRequest  = httpmw.Problem{Type: "bad_request", Title: "Invalid request", Status: http.StatusBadRequest}
	slowBody    = httpmw.Problem{Type: "slow_body", Title: "The body did not arrive in time", Status: http.StatusRequestTimeout}
	noItem      = httpmw.Problem{Type: "unknown_sku", Title: "There is no such item", Status: http.StatusNotFound}
	soldOut     = httpmw.Problem{Type: "sold_out", Title: "Fewer are left than were ordered", Status: http.StatusConflict}
	noDatabase  = httpmw.Problem{Type: "database_unavailable", Title: "The database failed; nothing was written", Status: http.StatusServiceUnavailable}
	demoRuns    = httpmw.Problem{Type: "demo_running", Title: "A demonstration is running", Status: http.StatusConflict}
	noDemoHere  = httpmw.Problem{Type: "demo_impossible", Title: "This demonstration is not possible here", Status: http.StatusNotImplemented}
	crossOrigin = httpmw.Problem{Type: "cross_origin", Title: "Pages of other sites may not do this", Status: http.StatusForbidden}
	notKnown    = httpmw.Problem{Type: "outcome_unknown", Title: "The database failed during the commit; look before you repeat the request", Status: http.StatusServiceUnavailable}
	notFound    = problemOfStatus(http.StatusNotFound)
	noMethod    = problemOfStatus(http.StatusMethodNotAllowed)
	cutShort    = problemOfStatus(http.StatusServiceUnavailable)
	internal    = problemOfStatus(http.StatusInternalServerError)
)

func problemOfStatus(code int) httpmw.Problem {
	return httpmw.Problem{Type: "about:blank", Title: http.StatusText(code), Status: code}
}

// problemOf returns the answer for an error of the shop. Errors of the lock get the
// answer that the middleware gives.
func problemOf(err error) httpmw.Problem {
	var bad *inputError
	switch {
	case errors.As(err, &bad):
		p := badRequest
		p.Detail = bad.reason
		return p
	case errors.Is(err, errSlowBody):
		return slowBody
	case errors.Is(err, errUnknownSKU):
		return noItem
	case errors.Is(err, errNoDemo):
		return notFound
	case errors.Is(err, errRunning):
		return demoRuns
	case errors.Is(err, errNotHere):
		return noDemoHere
	case errors.Is(err, errSoldOut):
		return soldOut
	case errors.Is(err, errDatabase):
		return noDatabase
	case errors.Is(err, errCommit):
		return notKnown
	case isLock(err):
		return httpmw.ProblemOf(err)
	case isContext(err):
		return cutShort
	default:
		return internal
	}
}

// fail answers a request with the problem for err, and logs errors that a client cannot
// cause.
func (a *httpAPI) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if p.Status == http.StatusInternalServerError || isNews(err) {
		a.log.ErrorContext(r.Context(), "request failed", "method", r.Method, "route", r.Pattern, "err", err)
	}
	p.ServeHTTP(w, r)
}

// statusOf is problemOf for gRPC.
func statusOf(ctx context.Context, err error) error {
	var bad *inputError
	switch {
	case errors.As(err, &bad):
		return status.Error(codes.InvalidArgument, bad.reason)
	case errors.Is(err, errUnknownSKU):
		return status.Error(codes.NotFound, noItem.Title)
	case errors.Is(err, errSoldOut):
		return status.Error(codes.FailedPrecondition, soldOut.Title)
	case errors.Is(err, errDatabase):
		return status.Error(codes.Unavailable, noDatabase.Title)
	case errors.Is(err, errCommit):
		return status.Error(codes.Unknown, notKnown.Title)
	case isLock(err):
		return grpcmw.StatusError(ctx, err)
	case isContext(err):
		return status.FromContextError(err).Err()
	default:
		return status.Error(codes.Internal, "internal error")
	}
}

// fail returns the status for err. It logs errors that a client cannot cause.
func (a *grpcAPI) fail(ctx context.Context, err error) error {
	answer := statusOf(ctx, err)
	if status.Code(answer) == codes.Internal || isNews(err) {
		a.log.ErrorContext(ctx, "call failed", "err", err)
	}
	return answer
}

// isLock reports whether err comes from the lock. Such an error may also match the
// context's error, and says more.
func isLock(err error) bool {
	var e *distlock.Error
	return errors.As(err, &e) || errors.Is(err, distlock.ErrLost)
}

// isNews reports whether err is about the database, or a write that came too late.
func isNews(err error) bool {
	return errors.Is(err, errDatabase) || errors.Is(err, errCommit) || errors.Is(err, errFenced)
}

func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
