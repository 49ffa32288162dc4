package grpcmw_test

import (
	"context"
	"io"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// TestAStreamThatSendsNothingHoldsNothing opens streams over a network and does not send
// their request. Other streams still get the lock; and these get it too, when they send
// their request.
func TestAStreamThatSendsNothingHoldsNothing(t *testing.T) {
	const crowd = 20
	s := testkit.NewStore()
	began := make(chan bool, 10*crowd)
	svc := &service{output: func(_ *testpb.StreamingOutputCallRequest, ss outputStream) error {
		if lease, ok := distlock.FromContext(ss.Context()); !ok || lease.Check() != nil {
			t.Error("there is no lease")
		}
		return ss.Send(&testpb.StreamingOutputCallResponse{})
	}}
	first := func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
		began <- true
		return h(srv, ss)
	}
	lock := grpcmw.StreamServerInterceptor(testkit.NewLocker(t, s, distlock.Config{}), rules(serverStream, messageKey))
	var client connKeeper
	answers, err := start(t, tcp, svc, []grpc.ServerOption{grpc.ChainStreamInterceptor(first, lock)}, grpc.WithStreamInterceptor(client.keep)).
		StreamingOutputCall(t.Context(), outputRequest("first"))
	for err == nil {
		_, err = answers.Recv()
	}
	if err != io.EOF { //nolint:errorlint // as gRPC says that it is over
		t.Fatal(err)
	}
	<-began

	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	desc := &grpc.StreamDesc{ServerStreams: true}
	open := func() grpc.ClientStream {
		stream, err := client.cc.NewStream(ctx, desc, serverStream)
		if err != nil {
			t.Fatal(err)
		}
		<-began // its head has come
		return stream
	}
	ask := func(stream grpc.ClientStream) error {
		if err := stream.SendMsg(outputRequest("u1")); err != nil {
			return err
		}
		if err := stream.CloseSend(); err != nil {
			return err
		}
		if err := stream.RecvMsg(new(testpb.StreamingOutputCallResponse)); err != nil {
			return err
		}
		return stream.RecvMsg(new(testpb.StreamingOutputCallResponse)) // io.EOF once the lock was given back
	}
	var silent []grpc.ClientStream
	for range crowd {
		silent = append(silent, open())
		if err := ask(open()); status.Code(err) != codes.Unknown || err.Error() != "EOF" {
			t.Fatalf("with %d that are silent: %v", len(silent), err)
		}
		if !s.Free(t, keyOf(t, "u1")) {
			t.Fatal("somebody has the lock")
		}
	}
	for i, stream := range silent[:crowd/2] {
		if err := ask(stream); err == nil || err.Error() != "EOF" {
			t.Errorf("silent one %d, in the end: %v", i, err)
		}
	}
	leave() // the others never say anything
	if got := len(s.Attempts()); got != 1+crowd+crowd/2 {
		t.Errorf("the lock was asked for %d times", got)
	}
}

// connKeeper remembers the connection of a call.
type connKeeper struct{ cc *grpc.ClientConn }

func (k *connKeeper) keep(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	k.cc = cc
	return streamer(ctx, desc, cc, method, opts...)
}
