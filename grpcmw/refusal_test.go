package grpcmw_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A call of which no key can be made is refused by what is wrong with it, and a Key answers as
// it wants.
func TestCallsWithoutAKey(t *testing.T) {
	fails := func(err error) grpcmw.Key {
		return grpcmw.KeyFunc(func(context.Context, string, any) (any, error) { return nil, err })
	}
	for name, c := range map[string]struct {
		key  grpcmw.Key
		want want
	}{
		"nothing":              {constant(nil), invalid("what the request is about is missing")},
		"what has no encoding": {constant(func() {}), invalid("invalid request")},
		"an empty field":       {messageKey, invalid(`field "response_status.message" is missing`)},
		"no metadata":          {grpcmw.Metadata("order"), invalid(`metadata "order" is missing or empty`)},
		"metadata twice":       {grpcmw.Metadata("TWICE"), invalid(`metadata "twice" appears more than once`)},
		"a KeyError":           {fails(&distlock.KeyError{Detail: "no tenant", Err: errBroken}), invalid("no tenant")},
		"a Key that fails":     {fails(errBroken), internal},
	} {
		t.Run(name, func(t *testing.T) {
			l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
			client := startUnary(t, l, never(t), rules(unaryCall, c.key))
			ctx := metadata.AppendToOutgoingContext(t.Context(), "twice", "a", "twice", "b")
			_, err := client.UnaryCall(ctx, &testpb.SimpleRequest{})
			wantStatus(t, err, c.want)
		})
	}
}

func TestErrorFunc(t *testing.T) {
	s := testkit.NewStore()
	l := testkit.NewLocker(t, s, distlock.Config{})
	held := hold(t, s, keyOf(t, "7"))
	var calls int
	var answer error
	mine := grpcmw.WithErrorHandler(func(ctx context.Context, method string, err error) error {
		calls++
		e := new(distlock.Error)
		if method != unaryCall || ctx.Err() != nil || !errors.Is(err, distlock.ErrNotAcquired) || !errors.As(err, &e) || e.Key != keyOf(t, "7") {
			t.Errorf("%s: %v", method, err)
		}
		return answer
	})
	client := startUnary(t, l, never(t), rules(unaryCall, messageKey), mine)
	answer = status.Error(codes.FailedPrecondition, "later")
	if _, err := client.UnaryCall(t.Context(), message("7")); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("%v", err)
	}
	answer = nil // must not become a success
	_, err := client.UnaryCall(t.Context(), message("7"))
	wantStatus(t, err, want{busy.code, busy.message, busy.reason, 10 * time.Second})
	if calls != 2 {
		t.Errorf("called %d times", calls)
	}

	// After the handler has run it is not called, also if the lock is lost.
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Memory().Drop(keyOf(t, "7"))
	client = startUnary(t, l, func(ctx context.Context, r *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		steal(ctx, t, s)
		return ok(ctx, r)
	}, rules(unaryCall, messageKey), mine)
	_, err = client.UnaryCall(t.Context(), message("7"))
	wantStatus(t, err, lost)
	if calls != 2 {
		t.Errorf("called %d times", calls)
	}
}

func TestErrorsMatchInTheProcess(t *testing.T) {
	s := testkit.NewStore()
	hold(t, s, keyOf(t, "7"))
	i := grpcmw.UnaryServerInterceptor(testkit.NewLocker(t, s, distlock.Config{}), rules(unaryCall, messageKey))
	_, err := direct(t.Context(), i, unaryCall, message("7"), nil)
	e := new(distlock.Error)
	if !errors.Is(err, distlock.ErrNotAcquired) || !errors.As(err, &e) || e.Key != keyOf(t, "7") {
		t.Errorf("%v", err)
	}
	// Wrapped once more, the error still does not send the key to the client.
	wrapped := fmt.Errorf("outer: %w", err)
	wantStatus(t, wrapped, want{codes.Aborted, "outer: rpc error: code = Aborted desc = busy with another call", grpcmw.ReasonBusy, 10 * time.Second})
}

// TestFaultsOfKeysReachTheHooks: also the errors of a Key, as the ErrorHandler gets them.
func TestFaultsOfKeysReachTheHooks(t *testing.T) {
	own := status.Error(codes.PermissionDenied, "own")
	for name, key := range map[string]grpcmw.Key{
		"missing": grpcmw.Metadata("x"), "nothing": constant(nil), "not to be encoded": constant(func() {}),
		"own": grpcmw.KeyFunc(func(context.Context, string, any) (any, error) { return nil, own }),
	} {
		var told, handled []error
		l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{Hooks: distlock.Hooks{
			Event: testkit.On{
				distlock.Failed: func(_ context.Context, i distlock.Event) { told = append(told, i.Err) },
			}.Event,
		}})
		handler := grpcmw.WithErrorHandler(func(_ context.Context, _ string, err error) error { handled = append(handled, err); return err })
		i := grpcmw.UnaryServerInterceptor(l, rules(unaryCall, key), handler)
		if _, err := direct(t.Context(), i, unaryCall, message("7"), nil); len(told) != 1 || !slices.Equal(told, handled) || err != told[0] { //nolint:errorlint // the same
			t.Errorf("%s: the hook was told %v, the ErrorHandler %v", name, told, handled)
		}
	}
}
