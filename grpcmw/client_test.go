package grpcmw_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
)

// startClient serves h to a client that locks.
func startClient(t *testing.T, l *distlock.Locker, h unaryFunc, r grpcmw.Rules, more ...grpcmw.Option) testpb.TestServiceClient {
	t.Helper()
	return start(t, memory, &service{unary: h}, nil, grpc.WithChainUnaryInterceptor(grpcmw.UnaryClientInterceptor(l, r, more...)))
}

func TestClientLocksAroundTheCall(t *testing.T) {
	s := testkit.NewStore()
	want := keyOf(t, []any{"north", "u1"})
	client := startClient(t, testkit.NewLocker(t, s, distlock.Config{}), func(ctx context.Context, r *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		if s.Free(t, want) {
			t.Error("the lock is free while the server works")
		}
		return ok(ctx, r)
	}, rules(unaryCall, grpcmw.Params(grpcmw.Metadata("tenant"), messageKey)))
	// The incoming metadata belongs to another call.
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("tenant", "south"))
	ctx = metadata.AppendToOutgoingContext(ctx, "tenant", "north")
	resp, err := client.UnaryCall(ctx, message("u1"))
	if err != nil || resp.Username != "done" {
		t.Errorf("%v, %v", resp, err)
	}
	if got := s.Attempts(); !slices.Equal(got, []string{want}) {
		t.Errorf("keys %q, want %q", got, want)
	}
	if !s.Free(t, want) {
		t.Error("the lock was not given back")
	}
	if _, err := client.EmptyCall(t.Context(), &testpb.Empty{}); err != nil || len(s.Attempts()) != 1 {
		t.Errorf("without a rule: %v, keys %q", err, s.Attempts())
	}
	_, err = client.UnaryCall(t.Context(), message("u1"))
	wantStatus(t, err, invalid(`metadata "tenant" is missing or empty`))
}

func TestClientRefusalsHaveAStatusAndMatch(t *testing.T) {
	s := testkit.NewStore()
	l := testkit.NewLocker(t, s, distlock.Config{})
	hold(t, s, keyOf(t, "7"))
	client := startClient(t, l, never(t), rules(unaryCall, messageKey))

	_, err := client.UnaryCall(t.Context(), message("7"))
	wantStatus(t, err, want{busy.code, busy.message, busy.reason, 10 * time.Second})
	e := new(distlock.Error)
	if !errors.Is(err, distlock.ErrNotAcquired) || !errors.As(err, &e) || e.Key != keyOf(t, "7") {
		t.Errorf("%v", err)
	}

	s.Fail(errBroken, testkit.Try, testkit.Wait)
	_, err = client.UnaryCall(t.Context(), message("8"))
	s.Fail(nil)
	wantStatus(t, err, unavailable)
	if !errors.Is(err, distlock.ErrUnavailable) || !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}

	_, err = client.UnaryCall(t.Context(), message(""))
	wantStatus(t, err, invalid(`field "response_status.message" is empty`))
	if !errors.Is(err, distlock.ErrKey) {
		t.Errorf("%v", err)
	}
}

// TestClientCallHasTheLeasesContext: a lock that is lost ends the call.
func TestClientCallHasTheLeasesContext(t *testing.T) {
	s := testkit.NewStore()
	leases, gone := make(chan *distlock.Lease, 1), make(chan error, 1)
	spy := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, o ...grpc.CallOption) error {
		lease, _ := distlock.FromContext(ctx)
		leases <- lease
		return invoker(ctx, method, req, reply, cc, o...)
	}
	h := func(ctx context.Context, _ *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		lease := <-leases
		s.Memory().Drop(lease.Key())
		if err := lease.Refresh(ctx); !errors.Is(err, distlock.ErrLost) {
			t.Errorf("Refresh = %v", err)
		}
		<-ctx.Done()
		gone <- ctx.Err()
		return nil, ctx.Err()
	}
	client := start(t, tcp, &service{unary: h}, nil, grpc.WithChainUnaryInterceptor(
		grpcmw.UnaryClientInterceptor(testkit.NewLocker(t, s, distlock.Config{}), rules(unaryCall, messageKey)), spy,
	))
	_, err := client.UnaryCall(t.Context(), message("7"))
	wantStatus(t, err, lost)
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the server: %v", err)
	}
}
