package grpcmw

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/request"
)

// StreamServerInterceptor returns an interceptor that runs the handlers of streaming
// methods with a rule under their locks. It panics as [UnaryServerInterceptor] does,
// for methods that do not stream, and for Fields if the client streams.
//
// If only the server streams, the request is received before the lock is taken. So a
// Key can use it, and a client that sends it slowly does not hold the lock. The
// handler's first RecvMsg gets a copy. For services that are not linked into the
// program, nothing is received.
func StreamServerInterceptor(l *distlock.Locker, rules Rules) grpc.StreamServerInterceptor {
	m := wire("StreamServerInterceptor", l, rules, true)
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		c := m.calls[info.FullMethod]
		if c == nil {
			return handler(srv, ss)
		}
		var request proto.Message
		var req any // for a Key, nil and not a nil message
		if c.input != nil {
			request = c.input.New().Interface()
			if err := ss.RecvMsg(request); err != nil {
				return err
			}
			req = request
		}
		return m.run(ss.Context(), c, req, func(ctx context.Context) error {
			return handler(srv, &lockedStream{ServerStream: ss, ctx: ctx, request: request})
		})
	}
}

// lockedStream is the stream as the handler sees it.
type lockedStream struct {
	grpc.ServerStream
	ctx     context.Context //nolint:containedctx // handed out by Context: the stream's own, with the lease
	request proto.Message   // received already, and not yet handed out
}

// Context returns the lease's context.
func (s *lockedStream) Context() context.Context { return s.ctx }

// RecvMsg returns the request that was received before the lock was taken, then the
// messages of the stream. It ends when the lease is lost.
func (s *lockedStream) RecvMsg(m any) error {
	if s.request == nil {
		return s.receive(m)
	}
	request := s.request
	s.request = nil
	dst := reflectMessage(m)
	if dst == nil || dst.Descriptor().FullName() != request.ProtoReflect().Descriptor().FullName() {
		return status.Errorf(codes.Internal, "grpcmw: the request was received as %s and cannot be handed out as %T",
			request.ProtoReflect().Descriptor().FullName(), m)
	}
	proto.Reset(dst.Interface())
	proto.Merge(dst.Interface(), request)
	return nil
}

// receive receives a message. If the lease is lost meanwhile, receive returns why, and gRPC ends
// the call that still waits for the message when the handler has returned.
func (s *lockedStream) receive(m any) error {
	if why := request.Lost(s.ctx); why != nil {
		return why
	}
	received := make(chan func() error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil { // in a codec, or in an interceptor around this one
				received <- func() error { panic(r) }
			}
		}()
		err := s.ServerStream.RecvMsg(m)
		received <- func() error { return err }
	}()
	select {
	case result := <-received:
		return result()
	case <-s.ctx.Done():
	}
	if why := request.Lost(s.ctx); why != nil {
		return why
	}
	return (<-received)()
}
