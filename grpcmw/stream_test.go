package grpcmw_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

type outputStream = grpc.ServerStreamingServer[testpb.StreamingOutputCallResponse]

// startStream serves streams under a lock, with more interceptors inside.
func startStream(t *testing.T, l *distlock.Locker, svc *service, r grpcmw.Rules, more ...grpc.StreamServerInterceptor) testpb.TestServiceClient {
	t.Helper()
	lock := grpcmw.StreamServerInterceptor(l, r)
	return start(t, tcp, svc, []grpc.ServerOption{grpc.ChainStreamInterceptor(append([]grpc.StreamServerInterceptor{lock}, more...)...)})
}

func outputRequest(s string) *testpb.StreamingOutputCallRequest {
	return &testpb.StreamingOutputCallRequest{
		ResponseParameters: []*testpb.ResponseParameters{{Size: 1}, {Size: 2}},
		Payload:            &testpb.Payload{Body: []byte("body")},
		ResponseStatus:     &testpb.EchoStatus{Message: s},
	}
}

// TestServerStream: the key is made of the request before the handler begins,
// the handler gets the request, and the lock lasts as long as the stream.
func TestServerStream(t *testing.T) {
	s := testkit.NewStore()
	want := keyOf(t, "u1")
	request := outputRequest("u1")
	request.ProtoReflect().SetUnknown([]byte{0xf8, 0x01, 0x2a}) // field 31: 42
	inside, leave := make(chan bool), make(chan bool)
	svc := &service{output: func(r *testpb.StreamingOutputCallRequest, ss outputStream) error {
		if !proto.Equal(r, request) {
			t.Errorf("request %v, want %v", r, request)
		}
		lease, _ := distlock.FromContext(ss.Context())
		if err := ss.Send(&testpb.StreamingOutputCallResponse{}); err != nil {
			t.Error(err)
		}
		inside <- true
		<-leave
		if err := lease.Check(); err != nil {
			t.Error(err)
		}
		return ss.Send(&testpb.StreamingOutputCallResponse{})
	}}
	inner := func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
		if lease, ok := distlock.FromContext(ss.Context()); !ok || lease.Key() != want {
			t.Errorf("an interceptor inside runs under %v", lease)
		}
		return h(srv, ss)
	}
	client := startStream(t, testkit.NewLocker(t, s, distlock.Config{}), svc, rules(serverStream, messageKey), inner)
	stream, err := client.StreamingOutputCall(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	<-inside
	if s.Free(t, want) {
		t.Error("the lock is free while the stream goes on")
	}
	second, err := client.StreamingOutputCall(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	_, err = second.Recv()
	wantStatus(t, err, busy)
	leave <- true
	for range 2 {
		if _, err := stream.Recv(); err != nil {
			t.Error(err)
		}
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end: %v", err)
	}
	if got := s.Attempts(); !slices.Equal(got, []string{want}) { // the second never got past the gate
		t.Errorf("keys %q", got)
	}
	if !s.Free(t, want) {
		t.Error("the lock was not given back")
	}
}

// TestClientStreams: the key is made of the metadata, and req is nil.
func TestClientStreams(t *testing.T) {
	s := testkit.NewStore()
	want := keyOf(t, []any{"u1", duplex})
	svc := &service{duplex: func(ss grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]) error {
		lease, ok := distlock.FromContext(ss.Context())
		if !ok || lease.Key() != want {
			t.Errorf("the handler runs under %v", lease)
		}
		// The server speaks first, which would never happen if the lock waited
		// for a message.
		for {
			if err := ss.Send(&testpb.StreamingOutputCallResponse{}); err != nil {
				return err
			}
			if r, err := ss.Recv(); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil || r.ResponseStatus.GetMessage() != "hello" {
				t.Errorf("%v, %v", r, err)
			}
		}
	}}
	key := grpcmw.Params(grpcmw.Metadata("order"), grpcmw.KeyFunc(func(_ context.Context, method string, req any) (any, error) {
		if req != nil {
			t.Errorf("req = %v", req)
		}
		return method, nil
	}))
	client := startStream(t, testkit.NewLocker(t, s, distlock.Config{}), svc, rules(duplex, key))
	stream, err := client.FullDuplexCall(metadata.AppendToOutgoingContext(t.Context(), "order", "u1"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(outputRequest("hello")); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	_, _ = stream.Recv() // the last message
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end: %v", err)
	}
	if !s.Free(t, want) {
		t.Error("the lock was not given back")
	}

	stream, err = client.FullDuplexCall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	wantStatus(t, err, invalid(`metadata "order" is missing or empty`))
}

// TestALossEndsRecvMsg: a client that sends nothing does not keep the lock of a handler that waits
// for it. A panic of RecvMsg reaches the handler.
func TestALossEndsRecvMsg(t *testing.T) {
	s := testkit.NewStore()
	inside := make(chan context.Context)
	svc := &service{duplex: func(ss grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]) error {
		inside <- ss.Context()
		for range 2 {
			if _, err := ss.Recv(); !errors.Is(err, distlock.ErrLost) {
				t.Errorf("Recv: %v", err)
			}
		}
		return nil
	}}
	client := startStream(t, testkit.NewLocker(t, s, distlock.Config{}), svc, rules(duplex, constant("7")))
	stream, err := client.FullDuplexCall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lose(<-inside, t, s)
	_, err = stream.Recv()
	wantStatus(t, err, lost)

	i := grpcmw.StreamServerInterceptor(testkit.NewLocker(t, s, distlock.Config{}), rules(duplex, constant("8")))
	defer func() {
		if r := recover(); r != "codec" {
			t.Errorf("panic: %v", r)
		}
	}()
	_ = i(nil, brokenStream{ctx: t.Context()}, &grpc.StreamServerInfo{FullMethod: duplex}, func(_ any, ss grpc.ServerStream) error { return ss.RecvMsg(nil) })
}

type brokenStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s brokenStream) Context() context.Context { return s.ctx }
func (s brokenStream) RecvMsg(any) error        { panic("codec") }

// fakeStream is a stream that receives messages from a list.
type fakeStream struct {
	grpc.ServerStream
	ctx      context.Context
	messages []proto.Message
}

func (s *fakeStream) Context() context.Context { return s.ctx }

func (s *fakeStream) RecvMsg(m any) error {
	if len(s.messages) == 0 {
		return io.EOF
	}
	proto.Merge(m.(proto.Message), s.messages[0])
	s.messages = s.messages[1:]
	return nil
}

// TestTheRequestIsHandedOutOnce has handlers that no generator wrote.
func TestTheRequestIsHandedOutOnce(t *testing.T) {
	const watch = "/grpcmw.test.OddService/Watch" // a service without generated types
	s := testkit.NewStore()
	i := grpcmw.StreamServerInterceptor(testkit.NewLocker(t, s, distlock.Config{}), rules(watch, grpcmw.Fields("s")))
	run := func(messages []proto.Message, h grpc.StreamHandler) error {
		return i(nil, &fakeStream{ctx: t.Context(), messages: messages}, &grpc.StreamServerInfo{FullMethod: watch, IsServerStream: true}, h)
	}
	request := oddMessage(map[string]any{"s": "u1", "i": int64(7)})
	err := run([]proto.Message{request}, func(_ any, ss grpc.ServerStream) error {
		got := dynamicpb.NewMessage(request.Descriptor())
		got.Set(got.Descriptor().Fields().ByName("raw"), protoreflect.ValueOfBytes([]byte("what was there before")))
		if err := ss.RecvMsg(got); err != nil || !proto.Equal(got, request) {
			t.Errorf("first: %v, %v", got, err)
		}
		if err := ss.RecvMsg(got); !errors.Is(err, io.EOF) {
			t.Errorf("second: %v, %v", got, err)
		}
		return nil
	})
	if err != nil || !slices.Equal(s.Attempts(), []string{keyOf(t, "u1")}) {
		t.Errorf("%v, keys %q", err, s.Attempts())
	}

	for _, other := range []any{&emptypb.Empty{}, "text", nil} {
		err := run([]proto.Message{request}, func(_ any, ss grpc.ServerStream) error { return ss.RecvMsg(other) })
		if status.Code(err) != codes.Internal {
			t.Errorf("%T: %v", other, err)
		}
	}
	// A method without a rule.
	if err := i(nil, nil, &grpc.StreamServerInfo{FullMethod: "/a/b"}, func(any, grpc.ServerStream) error { return nil }); err != nil {
		t.Error(err)
	}
	// A handler that does not receive it.
	if err := run([]proto.Message{request}, func(any, grpc.ServerStream) error { return nil }); err != nil {
		t.Error(err)
	}
	// A client that sends none, or has not sent it yet, holds nothing.
	asked := len(s.Attempts())
	if err := run(nil, func(any, grpc.ServerStream) error { t.Error("the handler ran"); return nil }); !errors.Is(err, io.EOF) || len(s.Attempts()) != asked {
		t.Errorf("no request: %v, keys %q", err, s.Attempts()[asked:])
	}
}
