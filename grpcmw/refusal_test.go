package grpcmw_test

import (
	"context"
	"errors"
	"fmt"
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

func TestErrorsMatchInTheProcess(t *testing.T) {
	s := testkit.NewStore()
	hold(t, s, keyOf(t, "7"))
	l := testkit.NewLocker(t, s, distlock.Config{})
	i, outer := grpcmw.UnaryServerInterceptor(l, rules(unaryCall, messageKey)), testkit.MustAcquire(t, l, "outer", distlock.Opts{})
	_, err := direct(outer.Context(), i, unaryCall, message("7"), nil)
	e := new(distlock.Error)
	if !errors.Is(err, distlock.ErrNotAcquired) || !errors.As(err, &e) || e.Key != keyOf(t, "7") {
		t.Errorf("%v", err)
	}
	// Wrapped once more, the error still does not send the key to the client.
	wrapped := fmt.Errorf("outer: %w", err)
	wantStatus(t, wrapped, want{codes.Aborted, "outer: rpc error: code = Aborted desc = busy with another call", grpcmw.ReasonBusy, 10 * time.Second})
}

// TestFaultsOfKeysReachTheHooks: the hook is told the error that is in the answer.
func TestFaultsOfKeysReachTheHooks(t *testing.T) {
	own := status.Error(codes.PermissionDenied, "own")
	for name, key := range map[string]grpcmw.Key{
		"missing": grpcmw.Metadata("x"), "nothing": constant(nil), "not to be encoded": constant(func() {}),
		"own": grpcmw.KeyFunc(func(context.Context, string, any) (any, error) { return nil, own }),
	} {
		var told []error
		l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{Hooks: distlock.Hooks{
			Event: func(_ context.Context, e distlock.Event) { told = append(told, e.Err) },
		}})
		i := grpcmw.UnaryServerInterceptor(l, rules(unaryCall, key))
		if _, err := direct(t.Context(), i, unaryCall, message("7"), nil); len(told) != 1 || !errors.Is(err, told[0]) {
			t.Errorf("%s: the hook was told %v, the answer is %v", name, told, err)
		}
	}
}
