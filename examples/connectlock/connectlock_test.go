package connectlock_test

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
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/examples/connectlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

// pay is the procedure of the tests. Its message is the number of the order.
const pay = "/shop.v1.Shop/Pay"

type (
	request  = connect.Request[wrapperspb.StringValue]
	response = connect.Response[emptypb.Empty]
)

// lock has a lock for each order.
func lock(l *distlock.Locker) connect.Interceptor {
	return connectlock.Use(grpcmw.UnaryServerInterceptor(l, grpcmw.ByMethod(map[string]grpcmw.Rule{
		pay: {Key: grpcmw.Fields("value"), Opts: distlock.Opts{Prefix: "shop:", Value: "pay", RetryCount: 1}},
	})))
}

// serve starts a server with a handler for pay and returns a client.
func serve(t *testing.T, l *distlock.Locker, handler func(context.Context, *request) (*response, error)) *connect.Client[wrapperspb.StringValue, emptypb.Empty] {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(pay, connect.NewUnaryHandler(pay, handler, connect.WithInterceptors(lock(l))))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return connect.NewClient[wrapperspb.StringValue, emptypb.Empty](server.Client(), server.URL+pay)
}

func call(ctx context.Context, c *connect.Client[wrapperspb.StringValue, emptypb.Empty], order string) error {
	_, err := c.CallUnary(ctx, connect.NewRequest(wrapperspb.String(order)))
	return err
}

// TestLock: a call has the lock of its order, and no other.
func TestLock(t *testing.T) {
	t.Parallel()
	l := distlock.New(memlock.New(), distlock.Config{})
	defer l.Close()
	running, leave := make(chan bool), make(chan bool)
	client := serve(t, l, func(ctx context.Context, r *request) (*response, error) {
		order := r.Msg.GetValue()
		key, err := wiring.Key(distlock.Opts{Prefix: "shop:", Value: "pay", ParamLock: true}, order) // that of httpmw and grpcmw
		if lease, ok := distlock.FromContext(ctx); err != nil || !ok || lease.Check() != nil || lease.Key() != key {
			t.Errorf("the handler has the lease %+v, want one of %q, %v", lease, key, err)
		}
		if order == "slow" {
			running <- true
			<-leave
		}
		return connect.NewResponse(&emptypb.Empty{}), nil
	})
	slow := make(chan error)
	go func() { slow <- call(t.Context(), client, "slow") }()
	<-running
	err := call(t.Context(), client, "slow")
	if connect.CodeOf(err) != connect.CodeAborted {
		t.Errorf("a second call of the order: %v", err)
	}
	if err := call(t.Context(), client, "42"); err != nil {
		t.Errorf("another order: %v", err)
	}
	if err := call(t.Context(), client, ""); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("no order: %v", err)
	}
	close(leave)
	if err := <-slow; err != nil {
		t.Error(err)
	}
}

// TestLoss: the context of the handler ends when the lock is lost, and a success after
// that is not one for the client. The handler's own error is returned unchanged.
func TestLoss(t *testing.T) {
	t.Parallel()
	l := distlock.New(memlock.New(), distlock.Config{})
	defer l.Close()
	own := connect.NewError(connect.CodeNotFound, errors.New("no such order"))
	client := serve(t, l, func(ctx context.Context, r *request) (*response, error) {
		lost := testkit.Lose(ctx, l)
		switch r.Msg.GetValue() {
		case "unknown":
			return nil, own
		case "stopped":
			return nil, ctx.Err()
		case "coded":
			return nil, connect.NewError(connect.CodeAlreadyExists, lost)
		case "checked":
			return nil, fmt.Errorf("pay: %w", lost)
		default:
			return connect.NewResponse(&emptypb.Empty{}), nil
		}
	})
	for _, order := range []string{"42", "stopped", "checked"} {
		if err := call(t.Context(), client, order); connect.CodeOf(err) != connect.CodeFailedPrecondition {
			t.Errorf("a call that lost its lock: %s: %v", order, err)
		}
	}
	for order, want := range map[string]connect.Code{"unknown": connect.CodeNotFound, "coded": connect.CodeAlreadyExists} {
		if err := call(t.Context(), client, order); connect.CodeOf(err) != want {
			t.Errorf("the handler's own error: %s: %v", order, err)
		}
	}
}

// refusal returns what becomes of an error of the interceptor for gRPC.
func refusal(ctx context.Context, err error) error {
	refuse := connectlock.Use(func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) { return nil, err })
	_, err = refuse.WrapUnary(nil)(ctx, connect.NewRequest(&emptypb.Empty{}))
	return err
}

// TestError: each error has the code, the text and the details that grpcmw answers with.
func TestError(t *testing.T) {
	t.Parallel()
	live := t.Context()
	cancelled, cancel := context.WithCancel(live)
	cancel()
	expired, cancel := context.WithTimeout(live, 0)
	defer cancel()
	for _, err := range []error{
		distlock.ErrLost, distlock.ErrKey, &distlock.KeyError{Detail: "which order?"}, distlock.ErrClosed, distlock.ErrUnavailable,
		driver.ErrForeign, distlock.ErrQueueFull, distlock.ErrNotAcquired, distlock.ErrNoFencing, distlock.ErrUpgrade, distlock.ErrReentry, errors.New("other"),
		&distlock.Error{Op: "acquire", Key: "secret", Err: distlock.ErrNotAcquired, RetryAfter: time.Minute},
		errors.Join(distlock.ErrNotAcquired, context.Canceled), errors.Join(distlock.ErrNotAcquired, context.DeadlineExceeded),
	} {
		for _, ctx := range []context.Context{live, cancelled, expired} {
			want := status.Convert(grpcmw.StatusError(ctx, err))
			got := new(connect.Error)
			if e := refusal(ctx, grpcmw.StatusError(ctx, err)); !errors.As(e, &got) || !errors.Is(e, err) {
				t.Fatalf("%v: %v", err, e)
			}
			if uint32(got.Code()) != uint32(want.Code()) || got.Message() != want.Message() || len(got.Details()) != len(want.Details()) {
				t.Errorf("%v, %v: %v, want %v", err, ctx.Err(), got, want)
				continue
			}
			for i, detail := range got.Details() {
				if value, err := detail.Value(); err != nil || !proto.Equal(value, want.Details()[i].(proto.Message)) {
					t.Errorf("%v: detail %v, %v, want %v", got, value, err, want.Details()[i])
				}
			}
		}
	}
	own := connect.NewError(connect.CodeUnauthenticated, errors.New("who are you?"))
	for _, err := range []error{own, grpcmw.StatusError(live, own)} {
		if err := refusal(live, err); !errors.Is(err, own) || connect.CodeOf(err) != connect.CodeUnauthenticated {
			t.Errorf("an error of a Key with a code: %v", err)
		}
	}
}

// Two calls pay the same order: the second one is refused while the first one runs.
func Example() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	lock := connectlock.Use(grpcmw.UnaryServerInterceptor(locker, grpcmw.ByMethod(map[string]grpcmw.Rule{
		pay: {Key: grpcmw.Fields("value"), Opts: distlock.Opts{Prefix: "shop:", Value: "pay", RetryCount: 1}},
	})))
	var again func() error
	handler := connect.NewUnaryHandler(pay, func(context.Context, *request) (*response, error) {
		fmt.Println("the other call:", again())
		return connect.NewResponse(&emptypb.Empty{}), nil
	}, connect.WithInterceptors(lock))
	server := httptest.NewServer(handler)
	defer server.Close()
	client := connect.NewClient[wrapperspb.StringValue, emptypb.Empty](server.Client(), server.URL+pay)
	again = func() error { return call(context.Background(), client, "42") }
	fmt.Println("the first call:", again())
	// Output:
	// the other call: aborted: busy with another call
	// the first call: <nil>
}
