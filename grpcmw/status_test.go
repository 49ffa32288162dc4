package grpcmw_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/fence"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestStatusError has each code of an error, and errors that match several others.
func TestStatusError(t *testing.T) {
	join := func(errs ...error) error {
		return &distlock.Error{Op: "acquire", Key: "shop:pay:7", Err: errors.Join(errs...)}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	locked := testkit.MustAcquire(t, testkit.NewLocker(t, testkit.NewStore(), distlock.Config{}), "order", distlock.Opts{}).Context()
	backend := status.Error(codes.NotFound, "10.1.2.3")
	begun := want{codes.FailedPrecondition, "the call failed after its work had begun: the outcome is in doubt", grpcmw.ReasonLost, 0}
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want want
	}{
		{t.Context(), testkit.Ran(t, join(distlock.ErrNotAcquired)), begun}, // of another lock, which a function of the handler wanted
		{t.Context(), testkit.Ran(t, join(distlock.ErrUpgrade)), begun},
		{locked, join(distlock.ErrUnavailable), begun}, // of another lock
		{t.Context(), testkit.Ran(t, join(distlock.ErrLost)), lost},
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
		{t.Context(), distlock.ErrReentry, want{codes.FailedPrecondition, "the caller holds the lock", grpcmw.ReasonReentry, 0}},
		{t.Context(), join(fence.ErrStale, distlock.ErrLost), lost},
		{ended, fmt.Errorf("%w: %w", fence.ErrStale, context.Canceled), want{codes.FailedPrecondition, "a later holder of the lock was here", grpcmw.ReasonStale, 0}},
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
