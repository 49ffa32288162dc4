package grpcmw_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
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
	backend := status.Error(codes.NotFound, "10.1.2.3")
	begun := want{codes.FailedPrecondition, "the call failed after its work had begun: the outcome is in doubt", grpcmw.ReasonLost, 0}
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want want
	}{
		{t.Context(), testkit.Ran(t, join(distlock.ErrNotAcquired)), begun}, // of another lock, which a function of the handler wanted
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

// eager is a retry policy with all codes for which services, Envoy and Istio repeat calls.
const eager = `{"methodConfig": [{"name": [{}], "retryPolicy": {
	"maxAttempts": 4, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1,
	"retryableStatusCodes": ["UNAVAILABLE", "CANCELLED", "ABORTED", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED", "INTERNAL", "UNKNOWN"]
}}]}`

// With gRPC's own retry policy, a call whose lock was lost works once, and a call that did not
// get its lock is repeated until it works.
func TestRetryPolicy(t *testing.T) {
	for _, c := range []struct {
		name    string
		before  func(t *testing.T, s *testkit.Store) (heal func())
		during  func(ctx context.Context, t *testing.T, s *testkit.Store) error
		refused int32 // attempts that do not get the lock
		want    want  // reason "": a success
	}{
		{"lost, and a success", nil, func(ctx context.Context, t *testing.T, s *testkit.Store) error {
			t.Helper()
			lose(ctx, t, s)
			return nil
		}, 0, lost},
		{"lost, and stopped", nil, func(ctx context.Context, t *testing.T, s *testkit.Store) error {
			t.Helper()
			lose(ctx, t, s)
			return ctx.Err()
		}, 0, lost},
		{"lost, and not known before the end", nil, func(ctx context.Context, t *testing.T, s *testkit.Store) error {
			t.Helper()
			steal(ctx, t, s)
			return nil
		}, 0, lost},
		{"busy at first", func(t *testing.T, s *testkit.Store) func() {
			t.Helper()
			lease := hold(t, s, keyOf(t, "7"))
			return func() { _ = lease.Release(t.Context()) }
		}, nil, 2, want{}},
		{"the store is down at first", func(_ *testing.T, s *testkit.Store) func() {
			s.Fail(errBroken, testkit.Try)
			return func() { s.Fail(nil) }
		}, nil, 2, want{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := testkit.NewStore()
			heal := func() {}
			if c.before != nil {
				heal = c.before(t, s)
			}
			var refused, worked atomic.Int32
			l := testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{Event: testkit.On{distlock.Failed: func(context.Context, distlock.Event) {
				if refused.Add(1) == c.refused {
					heal()
				}
			}}.Event}})
			svc := &service{unary: func(ctx context.Context, _ *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
				worked.Add(1)
				if c.during != nil {
					return &testpb.SimpleResponse{}, c.during(ctx, t, s)
				}
				return &testpb.SimpleResponse{}, nil
			}}
			lock := grpc.ChainUnaryInterceptor(grpcmw.UnaryServerInterceptor(l, rules(unaryCall, messageKey)))
			client := start(t, tcp, svc, []grpc.ServerOption{lock}, grpc.WithDefaultServiceConfig(eager))
			_, err := client.UnaryCall(t.Context(), message("7"))
			if c.want.reason != "" {
				wantStatus(t, err, c.want)
			} else if err != nil {
				t.Error(err)
			}
			if worked.Load() != 1 || refused.Load() != c.refused {
				t.Errorf("the handler worked %d times, after %d refusals", worked.Load(), refused.Load())
			}
		})
	}
}
