package web_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/example_service/shopv1"
	"github.com/distlock-go/distlock/grpcmw"
)

// rpc is what a handler of a method gets. The sku is the order.
type rpc struct {
	ctx   context.Context
	order *shopv1.PlaceOrderRequest
	reply *shopv1.PlaceOrderResponse
}

const method = shopv1.ShopService_PlaceOrder_FullMethodName

// interceptor is the lock of an order in a message.
func interceptor(l *distlock.Locker, o distlock.Opts) grpc.UnaryServerInterceptor {
	key := grpcmw.KeyFunc(func(_ context.Context, _ string, req any) (any, error) {
		return number(req.(*shopv1.PlaceOrderRequest).GetSku())
	})
	return grpcmw.UnaryServerInterceptor(l, grpcmw.ByMethod(map[string]grpcmw.Rule{method: {Key: key, Opts: o}}))
}

// read returns the seconds of RetryInfo, and the reason of ErrorInfo, among details.
func read(details []any) (retryAfter, reason string) {
	for _, d := range details {
		switch d := d.(type) {
		case *errdetails.RetryInfo:
			retryAfter = strconv.Itoa(int((d.GetRetryDelay().AsDuration() + time.Second - 1) / time.Second))
		case *errdetails.ErrorInfo:
			reason = d.GetReason()
		}
	}
	return retryAfter, reason
}

// rpcCodes are the answers of grpcmw.
var rpcCodes = answers{
	ok: 0, panics: int(codes.Internal),
	busy: outcome{int(codes.Aborted), grpcmw.ReasonBusy}, badKey: outcome{int(codes.InvalidArgument), grpcmw.ReasonKey},
	empty: outcome{int(codes.InvalidArgument), grpcmw.ReasonKey},
	away:  outcome{int(codes.Unavailable), grpcmw.ReasonUnavailable}, lost: outcome{int(codes.FailedPrecondition), grpcmw.ReasonLost},
}

// testRPC runs the table for a framework of methods. The handler's own error has a
// code.
func testRPC(t *testing.T, start func(*testing.T, *distlock.Locker, distlock.Opts, func(rpc) error) call, a answers, own error, code int) {
	cause := func(c rpc) error { return context.Cause(c.ctx) }
	framework[rpc]{
		start: start, context: func(c rpc) context.Context { return c.ctx },
		paid:    func(c rpc) error { c.reply.Sku = "paid " + c.order.GetSku(); return nil },
		answers: a,
		after: map[string]reply[rpc]{
			"nothing":     {func(rpc) error { return nil }, a.lost.code},
			"its context": {func(c rpc) error { return c.ctx.Err() }, a.lost.code},
			"its cause":   {func(c rpc) error { return fmt.Errorf("order: %w", cause(c)) }, a.lost.code},
			"its own":     {func(rpc) error { return own }, code},
		},
	}.test(t)
}
