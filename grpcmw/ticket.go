package grpcmw

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/distlock-go/distlock/fence"
	"github.com/distlock-go/distlock/internal/request"
)

// ticketKey has the tickets of a call in its metadata.
const ticketKey = "distlock-ticket"

// SendTickets returns interceptors of a client that send the tickets of the call's context
// along. They belong to leases that the caller holds alone, or came with its own call.
// If a lease is over, they send nothing, and the error matches [distlock.ErrLost]. Without a lease
// the call is as it was. SendTickets panics if b is nil.
func SendTickets(b *fence.Boundary) (grpc.UnaryClientInterceptor, grpc.StreamClientInterceptor) {
	if b == nil {
		panic("grpcmw: SendTickets: nil Boundary: choose fence.Signed or fence.Unsigned")
	}
	unary := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		ctx, err := withTickets(ctx, b)
		if err != nil {
			return err
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	stream := func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		ctx, err := withTickets(ctx, b)
		if err != nil {
			return nil, err
		}
		return open(ctx, desc, cc, method, opts...)
	}
	return unary, stream
}

func withTickets(ctx context.Context, b *fence.Boundary) (context.Context, error) {
	tickets, err := b.Tickets(ctx)
	if err != nil || len(tickets) == 0 {
		return ctx, err
	}
	md, _ := metadata.FromOutgoingContext(ctx)
	md = metadata.Join(md) // not nil
	md.Set(ticketKey, tickets...)
	return metadata.NewOutgoingContext(ctx, md), nil
}

// ReceiveTickets returns interceptors of a server that put the tickets of a call into its
// context, for [fence.FromContext]. The interceptors of locks below them refuse a key of which
// the caller has sent a ticket, with LOCK_REENTRY, because they would wait for the caller. A
// ticket that is malformed, or not signed as b demands, is refused. Calls without tickets go
// on. If the handler fails with an error of package fence, the call ends with the status of
// [StatusError]. ReceiveTickets panics if b is nil.
func ReceiveTickets(b *fence.Boundary) (grpc.UnaryServerInterceptor, grpc.StreamServerInterceptor) {
	if b == nil {
		panic("grpcmw: ReceiveTickets: nil Boundary: choose fence.Signed or fence.Unsigned")
	}
	receive := func(ctx context.Context, handle func(context.Context) error) error {
		carrying, err := b.Context(ctx, metadata.ValueFromIncomingContext(ctx, ticketKey))
		if err == nil {
			err = handle(carrying)
		}
		if code := request.AnswerOf(ctx, err).Code; (code == request.CodeStale || code == request.CodeTicket) && !hasStatus(err) {
			return StatusError(ctx, err)
		}
		return err
	}
	unary := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
		err = receive(ctx, func(ctx context.Context) (err error) {
			resp, err = handler(ctx, req)
			return err
		})
		return resp, err
	}
	stream := func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		return receive(ss.Context(), func(ctx context.Context) error {
			return handler(srv, &lockedStream{ServerStream: ss, ctx: ctx})
		})
	}
	return unary, stream
}
