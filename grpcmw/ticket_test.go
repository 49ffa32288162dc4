package grpcmw_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/fence"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Unary calls and streams run under the ticket of the caller. A lock of the same key would
// wait for the caller, and is refused at once. What the ticket or the data refuse has a status.
func TestTicketsTravel(t *testing.T) {
	l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
	boundary := fence.Signed([]byte(strings.Repeat("s", 32)))
	work := func(ctx context.Context) error {
		ticket, ok := fence.FromContext(ctx, keyOf(t, "7"))
		if !ok {
			return fence.ErrNoTicket
		}
		return fmt.Errorf("%w: token %d", fence.ErrStale, ticket.Token())
	}
	svc := &service{
		unary: func(ctx context.Context, _ *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
			return nil, work(ctx)
		},
		output: func(_ *testpb.StreamingOutputCallRequest, ss outputStream) error { return work(ss.Context()) },
	}
	unary, stream := grpcmw.ReceiveTickets(boundary)
	server := []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(unary, grpcmw.UnaryServerInterceptor(l, rules(unaryCall, messageKey, waits))),
		grpc.ChainStreamInterceptor(stream),
	}
	sendUnary, sendStream := grpcmw.SendTickets(boundary)
	client := start(t, memory, svc, server, grpc.WithChainUnaryInterceptor(sendUnary), grpc.WithChainStreamInterceptor(sendStream))
	call := func(ctx context.Context, s string) error {
		_, err := client.UnaryCall(ctx, message(s))
		return err
	}
	output := func(ctx context.Context) error {
		ss, err := client.StreamingOutputCall(ctx, outputRequest("7"))
		if err == nil {
			_, err = ss.Recv()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}

	lease := testkit.MustAcquire(t, l, keyOf(t, "7"), distlock.Opts{})
	stale := want{codes.FailedPrecondition, "a later holder of the lock was here", grpcmw.ReasonStale, 0}
	missing := want{codes.Unauthenticated, "the ticket is missing", grpcmw.ReasonTicket, 0}
	refused := want{codes.Unauthenticated, "the ticket is malformed, or not signed with the secret of this service", grpcmw.ReasonTicket, 0}
	wantStatus(t, call(lease.Context(), "7"), want{codes.FailedPrecondition, "the caller holds the lock", grpcmw.ReasonReentry, 0})
	wantStatus(t, call(lease.Context(), "8"), stale)
	wantStatus(t, output(lease.Context()), stale)
	wantStatus(t, call(t.Context(), "8"), missing)
	wantStatus(t, output(t.Context()), missing)
	forged := metadata.AppendToOutgoingContext(t.Context(), "distlock-ticket", "dGVh.7.1.")
	wantStatus(t, call(forged, "8"), refused)
	wantStatus(t, output(forged), refused)
	// What a proxy has passed on does not stay beside what it sends itself.
	wantStatus(t, call(metadata.NewOutgoingContext(lease.Context(), metadata.Pairs("distlock-ticket", "dGVh.7.1.")), "8"), stale)
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{call(context.WithoutCancel(lease.Context()), "8"), output(context.WithoutCancel(lease.Context()))} {
		if !errors.Is(err, distlock.ErrLost) {
			t.Errorf("a lease that is over: %v", err)
		}
	}
	testkit.WantPanic(t, "grpcmw: SendTickets: nil Boundary: choose fence.Signed or fence.Unsigned", func() { grpcmw.SendTickets(nil) })
	testkit.WantPanic(t, "grpcmw: ReceiveTickets: nil Boundary: choose fence.Signed or fence.Unsigned", func() { grpcmw.ReceiveTickets(nil) })
}
