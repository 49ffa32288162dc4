package grpcmw_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/example_service/shopv1"
	"github.com/distlock-go/distlock/grpcmw"
	distlockv1 "github.com/distlock-go/distlock/grpcmw/proto/distlock/v1"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

const testService = "/grpc.testing.TestService/"

// declared are the rules of a TestService whose methods have options. EmptyCall has none.
func declared(t *testing.T) grpcmw.Rules {
	t.Helper()
	pay := &distlockv1.Lock{Prefix: "shop:", Value: "pay", Params: []string{"response_status.message"}, RetryCount: 1}
	locks := map[string]*distlockv1.Lock{
		"UnaryCall":           pay,
		"StreamingOutputCall": pay,
		"StreamingInputCall":  {Prefix: "shop:", Value: "import", RetryCount: 1},
		"HalfDuplexCall":      {Value: "read", Mode: distlockv1.Mode_MODE_SHARED},
		"CacheableUnaryCall": {
			Prefix: "audit:", Value: "v1", Params: []string{"response_status.message", "response_size"},
			KeyTimeout: durationpb.New(3 * time.Second), RetryCount: 7, RetryInterval: durationpb.New(20 * time.Millisecond),
			MaxWait: durationpb.New(3 * time.Second), Mode: distlockv1.Mode_MODE_EXCLUSIVE, Permits: 4,
			MaxHold: durationpb.New(time.Minute), MinHold: durationpb.New(1500 * time.Millisecond), Reentry: distlockv1.Reentry_REENTRY_ONE, Fencing: true,
		},
	}
	file := protodesc.ToFileDescriptorProto(testpb.File_grpc_testing_test_proto)
	for _, m := range file.GetService()[0].GetMethod() {
		if lock := locks[m.GetName()]; lock != nil {
			m.Options = &descriptorpb.MethodOptions{}
			proto.SetExtension(m.Options, distlockv1.E_Lock, lock)
		}
	}
	return grpcmw.FromFiles(register(t, file))
}

// calls are the methods that a test calls, each for one order.
var calls = map[string]func(context.Context, testpb.TestServiceClient) error{
	"UnaryCall": func(ctx context.Context, c testpb.TestServiceClient) error {
		_, err := c.UnaryCall(ctx, message("42"))
		return err
	},
	"EmptyCall": func(ctx context.Context, c testpb.TestServiceClient) error {
		_, err := c.EmptyCall(ctx, &testpb.Empty{})
		return err
	},
	"StreamingOutputCall": func(ctx context.Context, c testpb.TestServiceClient) error {
		ss, err := c.StreamingOutputCall(ctx, outputRequest("42"))
		if err != nil {
			return err
		}
		if _, err = ss.Recv(); errors.Is(err, io.EOF) {
			return nil
		}
		return err
	},
	"StreamingInputCall": func(ctx context.Context, c testpb.TestServiceClient) error {
		ss, err := c.StreamingInputCall(ctx)
		if err != nil {
			return err
		}
		_, err = ss.CloseAndRecv()
		return err
	},
}

// TestOptionsLockAServer: each method runs under the key of its option, as a
// function with the same declaration does, and another holder keeps it out.
func TestOptionsLockAServer(t *testing.T) {
	imports, err := wiring.Key(distlock.Opts{Prefix: "shop:", Value: "import"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{
		"UnaryCall": keyOf(t, "42"), "StreamingOutputCall": keyOf(t, "42"), "StreamingInputCall": imports, "EmptyCall": "",
	}
	taken := false
	check := func(ctx context.Context, method string) {
		lease, ok := distlock.FromContext(ctx)
		if taken || !ok || lease.Key() != keys[method] || lease.Check() != nil {
			t.Errorf("%s runs under %v, want %q; another has it: %t", method, lease, keys[method], taken)
		}
	}
	svc := &service{
		unary: func(ctx context.Context, r *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
			check(ctx, "UnaryCall")
			return ok(ctx, r)
		},
		output: func(_ *testpb.StreamingOutputCallRequest, ss outputStream) error {
			check(ss.Context(), "StreamingOutputCall")
			return nil
		},
		input: func(ss grpc.ClientStreamingServer[testpb.StreamingInputCallRequest, testpb.StreamingInputCallResponse]) error {
			check(ss.Context(), "StreamingInputCall")
			return ss.SendAndClose(&testpb.StreamingInputCallResponse{})
		},
	}
	s := testkit.NewStore()
	l, rules := testkit.NewLocker(t, s, distlock.Config{}), declared(t)
	client := start(t, memory, svc, []grpc.ServerOption{
		grpc.UnaryInterceptor(grpcmw.UnaryServerInterceptor(l, rules.Unary())),
		grpc.StreamInterceptor(grpcmw.StreamServerInterceptor(l, rules.Streams())),
	})
	for method, call := range calls {
		if err := call(t.Context(), client); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	taken = true
	hold(t, s, keyOf(t, "42"))
	hold(t, s, imports)
	held := busy
	held.retry = distlock.DefaultKeyTimeout // the store knows of an hour
	for method, call := range calls {
		err := call(t.Context(), client)
		if keys[method] != "" {
			wantStatus(t, err, held)
		} else if err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	_, err = client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
	wantStatus(t, err, invalid(`field "response_status.message" is missing`))
}

// TestFieldsOfOptions compares options with the Opts that they stand for: the options
// in the descriptor above, and the option of the shop, which protoc has read in shop.proto.
func TestFieldsOfOptions(t *testing.T) {
	text := func(o distlock.Opts) string { return fmt.Sprintf("%+v", o) }
	pay := distlock.Opts{Prefix: "shop:", Value: "pay", ParamLock: true, RetryCount: 1}
	want := map[string]distlock.Opts{
		testService + "UnaryCall":           pay,
		testService + "StreamingOutputCall": pay,
		testService + "StreamingInputCall":  {Prefix: "shop:", Value: "import", RetryCount: 1},
		testService + "HalfDuplexCall":      {Value: "read", Mode: distlock.Shared},
		testService + "CacheableUnaryCall": {
			Prefix: "audit:", Value: "v1", ParamLock: true, KeyTimeout: 3 * time.Second, RetryCount: 7,
			RetryInterval: 20 * time.Millisecond, MaxWait: 3 * time.Second, Permits: 4, MaxHold: time.Minute,
			MinHold: 1500 * time.Millisecond, Reentry: distlock.ReentryOne, Fencing: true,
		},
		shopv1.ShopService_PlaceOrder_FullMethodName: {Prefix: "shop:", Value: "item", ParamLock: true, KeyTimeout: 3 * time.Second},
	}
	var order []string
	compare := func(method string, o *distlock.Opts) {
		order = append(order, method)
		if text(*o) != text(want[method]) {
			t.Errorf("%s is declared as\n%+v, want\n%+v", method, *o, want[method])
		}
	}
	declared(t).Adjust(compare)
	grpcmw.FromOptions().Adjust(compare)
	if !slices.IsSorted(order) || len(order) != len(want) {
		t.Errorf("the methods with a lock are %q", order)
	}
}

// TestByMethodHasHalves too.
func TestByMethodHasHalves(t *testing.T) {
	l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
	r := grpcmw.ByMethod(map[string]grpcmw.Rule{
		unaryCall:    {Key: messageKey, Opts: opts()},
		serverStream: {Key: messageKey, Opts: opts()},
		"/a.b/c":     {Key: messageKey, Opts: opts()}, // not known: it stays in both
	})
	grpcmw.UnaryServerInterceptor(l, r.Unary())
	grpcmw.StreamServerInterceptor(l, r.Streams())
	for half, want := range map[*grpcmw.Rules][]string{ptr(r.Unary()): {"/a.b/c", unaryCall}, ptr(r.Streams()): {"/a.b/c", serverStream}} {
		var got []string
		half.Adjust(func(method string, _ *distlock.Opts) { got = append(got, method) })
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func ptr[T any](v T) *T { return &v }
