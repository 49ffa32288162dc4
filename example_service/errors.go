package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/fence"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/httpmw"
)

// inputError is an error of the client. Its text is the answer.
type inputError struct{ reason string }

func (e *inputError) Error() string { return e.reason }

func badInput(format string, args ...any) error { return &inputError{fmt.Sprintf(format, args...)} }

// writeError answers a request with problem JSON. Errors of the lock get the answer of
// the middleware.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	var bad *inputError
	switch {
	case errors.As(err, &bad):
		httpmw.Problem{Type: "bad_request", Title: "Invalid request", Status: http.StatusBadRequest, Detail: bad.reason}.ServeHTTP(w, r)
	case errors.Is(err, errUnknownSKU):
		httpmw.Problem{Type: "unknown_sku", Title: "There is no such item", Status: http.StatusNotFound}.ServeHTTP(w, r)
	case errors.Is(err, errSoldOut):
		httpmw.Problem{Type: "sold_out", Title: "Fewer are left than were ordered", Status: http.StatusConflict}.ServeHTTP(w, r)
	default:
		report(r.Context(), err)
		httpmw.WriteError(w, r, err)
	}
}

// statusOf is writeError for gRPC.
func statusOf(ctx context.Context, err error) error {
	var bad *inputError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &bad):
		return status.Error(codes.InvalidArgument, bad.reason)
	case errors.Is(err, errUnknownSKU):
		return status.Error(codes.NotFound, err.Error())
	case errors.Is(err, errSoldOut):
		return status.Error(codes.FailedPrecondition, err.Error())
	default:
		report(ctx, err)
		return grpcmw.StatusError(ctx, err)
	}
}

// report logs what an operator should know: that Redis fails.
func report(ctx context.Context, err error) {
	code := distlock.CodeOf(err)
	if code == distlock.CodeUnavailable || code == distlock.CodeOther && ctx.Err() == nil && !errors.Is(err, fence.ErrStale) {
		slog.ErrorContext(ctx, "request failed", "err", err)
	}
}
