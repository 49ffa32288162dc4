package grpcmw_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestStatusError has each code of an error, and errors that match several others.
func TestStatusError(t *testing.T) {
	join := func(errs ...error) error {
		return &distlock.Error{Op: "acquire", Key: "shop:pay:7", Err: errors.Join(errs...)}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	backend := status.Error(codes.NotFound, "10.1.2.3")
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want want
	}{
		{t.Context(), join(distlock.ErrKey), invalid("invalid request")},
		{t.Context(), fmt.Errorf("wrapped: %w", &distlock.KeyError{Detail: "x"}), invalid("x")},
		{t.Context(), join(distlock.ErrNotAcquired), busy},
		{t.Context(), join(distlock.ErrNotAcquired, context.DeadlineExceeded), busy}, // not the caller's
		{t.Context(), join(distlock.ErrUnavailable, context.DeadlineExceeded), unavailable},
		{t.Context(), join(distlock.ErrUnavailable, backend), unavailable},
		{t.Context(), join(distlock.ErrClosed), unavailable},
		{t.Context(), join(distlock.ErrQueueFull), queueFull},
		{t.Context(), join(errForeign), busy},
		{ended, join(errForeign, context.Canceled), canceled},
		{t.Context(), join(distlock.ErrLost, distlock.ErrClosed), lost},
		{t.Context(), &distlock.Error{Op: "options", Err: errBroken}, internal},
		{t.Context(), distlock.ErrUpgrade, internal},
		{t.Context(), distlock.ErrReentry, internal},
		{t.Context(), distlock.ErrNoFencing, internal},
		{t.Context(), errBroken, internal},
		{ended, join(distlock.ErrNotAcquired, context.Canceled), canceled},
		{ended, join(distlock.ErrNotAcquired, distlock.ErrUnavailable, context.Canceled), canceled},
		{ended, join(distlock.ErrNotAcquired), busy}, // it ended afterwards
		{ended, join(distlock.ErrUnavailable, context.DeadlineExceeded), unavailable},
		{ended, context.Canceled, canceled}, // of a Key with a request of its own
	} {
		err := grpcmw.StatusError(c.ctx, c.err)
		wantStatus(t, err, c.want)
		if !errors.Is(err, c.err) && !errors.As(err, new(*distlock.KeyError)) {
			t.Errorf("%v does not match %v", err, c.err)
		}
	}
	own := status.Error(codes.PermissionDenied, "no")
	if got := grpcmw.StatusError(t.Context(), own); got != own { //nolint:errorlint // the very error
		t.Errorf("%v", got)
	}
}
