package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/example_service/shopv1"
	"github.com/distlock-go/distlock/examples/connectlock"
	"github.com/distlock-go/distlock/grpcmw"
)

func TestConnect(t *testing.T) {
	own := connect.NewError(connect.CodeNotFound, distlock.ErrLost) // the handler has chosen the code
	testRPC(t, startConnect, rpcCodes, own, int(connect.CodeNotFound))
}

func startConnect(t *testing.T, l *distlock.Locker, o distlock.Opts, handler func(rpc) error) call {
	t.Helper()
	server := httptest.NewServer(connect.NewUnaryHandler(method, func(ctx context.Context, r *connect.Request[shopv1.PlaceOrderRequest]) (*connect.Response[shopv1.PlaceOrderResponse], error) {
		answer := &shopv1.PlaceOrderResponse{}
		return connect.NewResponse(answer), handler(rpc{ctx, r.Msg, answer})
	}, connect.WithRecover(func(_ context.Context, _ connect.Spec, _ http.Header, p any) error {
		return connect.NewError(connect.CodeInternal, fmt.Errorf("%v", p))
	}), connect.WithInterceptors(connectlock.Use(interceptor(l, o)))))
	t.Cleanup(server.Close)
	client := connect.NewClient[shopv1.PlaceOrderRequest, shopv1.PlaceOrderResponse](server.Client(), server.URL+method)
	return func(ctx context.Context, order string) (answer, error) {
		got, err := client.CallUnary(ctx, connect.NewRequest(&shopv1.PlaceOrderRequest{Sku: order}))
		refused := new(connect.Error)
		if errors.As(err, &refused) && ctx.Err() == nil {
			a := answer{code: int(refused.Code())}
			a.retryAfter, a.body = read(detailsOf(refused))
			return a, nil
		}
		if err != nil {
			return answer{}, err
		}
		return answer{body: got.Msg.GetSku()}, nil
	}
}

// detailsOf returns the details of an error of connect.
func detailsOf(err *connect.Error) (details []any) {
	for _, d := range err.Details() {
		value, err := d.Value()
		if err != nil {
			value = nil
		}
		details = append(details, value)
	}
	return details
}

// TestConnectErrors: each error has the code, the text and the details that grpcmw
// answers with, and the error of the lock inside. One with a code of connect is left as
// it is.
func TestConnectErrors(t *testing.T) {
	t.Parallel()
	refusal := func(err error) error {
		refuse := connectlock.Use(func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) { return nil, err })
		_, err = refuse.WrapUnary(nil)(t.Context(), connect.NewRequest(&shopv1.PlaceOrderRequest{}))
		return err
	}
	for _, err := range []error{
		distlock.ErrLost, &distlock.KeyError{Detail: "which order?"}, distlock.ErrClosed, distlock.ErrQueueFull, errors.New("other"),
		&distlock.Error{Op: "acquire", Key: "secret", Err: distlock.ErrNotAcquired, RetryAfter: time.Minute},
		errors.Join(distlock.ErrNotAcquired, context.DeadlineExceeded),
	} {
		want, got := status.Convert(grpcmw.StatusError(t.Context(), err)), new(connect.Error)
		if e := refusal(grpcmw.StatusError(t.Context(), err)); !errors.As(e, &got) || !errors.Is(e, err) {
			t.Fatalf("%v: %v", err, e)
		}
		details := detailsOf(got)
		if codes.Code(got.Code()) != want.Code() || got.Message() != want.Message() || len(details) != len(want.Details()) {
			t.Errorf("%v: %v, want %v", err, got, want)
			continue
		}
		for i, d := range details {
			if !proto.Equal(d.(proto.Message), want.Details()[i].(proto.Message)) {
				t.Errorf("%v: detail %v, want %v", got, d, want.Details()[i])
			}
		}
	}
	own := connect.NewError(connect.CodeUnauthenticated, errors.New("who are you?"))
	for _, err := range []error{own, grpcmw.StatusError(t.Context(), own)} {
		if err := refusal(err); !errors.Is(err, own) || connect.CodeOf(err) != connect.CodeUnauthenticated {
			t.Errorf("an error of a Key with a code: %v", err)
		}
	}
}
