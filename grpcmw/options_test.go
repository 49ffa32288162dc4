package grpcmw_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/grpcmw/internal/billv1"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
	"google.golang.org/grpc"
)

// bills is a BillService with one behaviour for all methods.
type bills struct {
	billv1.UnimplementedBillServiceServer
	do func(ctx context.Context, method string) error
}

func (b *bills) Pay(ctx context.Context, r *billv1.PayRequest) (*billv1.PayResponse, error) {
	return &billv1.PayResponse{Text: fmt.Sprint("paid ", r.GetOrder().GetId())}, b.do(ctx, "Pay")
}

func (b *bills) Close(ctx context.Context, _ *billv1.PayRequest) (*billv1.PayResponse, error) {
	return &billv1.PayResponse{}, b.do(ctx, "Close")
}

func (b *bills) Read(ctx context.Context, _ *billv1.PayRequest) (*billv1.PayResponse, error) {
	return &billv1.PayResponse{}, b.do(ctx, "Read")
}

func (b *bills) Get(ctx context.Context, _ *billv1.PayRequest) (*billv1.PayResponse, error) {
	return &billv1.PayResponse{}, b.do(ctx, "Get")
}

func (b *bills) Follow(_ *billv1.PayRequest, ss grpc.ServerStreamingServer[billv1.PayResponse]) error {
	return b.do(ss.Context(), "Follow")
}

func (b *bills) Import(ss grpc.ClientStreamingServer[billv1.PayRequest, billv1.PayResponse]) error {
	if err := b.do(ss.Context(), "Import"); err != nil {
		return err
	}
	return ss.SendAndClose(&billv1.PayResponse{})
}

// startBills serves b and returns a client.
func startBills(t *testing.T, b *bills, server []grpc.ServerOption, client ...grpc.DialOption) billv1.BillServiceClient {
	t.Helper()
	srv := grpc.NewServer(server...)
	billv1.RegisterBillServiceServer(srv, b)
	cc := dial(srv, client...)
	t.Cleanup(func() {
		_ = cc.Close()
		srv.Stop()
	})
	return billv1.NewBillServiceClient(cc)
}

// lockBills are interceptors for all methods of a server.
func lockBills(l *distlock.Locker, rules grpcmw.Rules) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(grpcmw.UnaryServerInterceptor(l, rules.Unary())),
		grpc.ChainStreamInterceptor(grpcmw.StreamServerInterceptor(l, rules.Streams())),
	}
}

func payRequest(id int64) *billv1.PayRequest {
	return &billv1.PayRequest{Order: &billv1.Order{Id: id}}
}

// calls are all methods of bills.
var calls = map[string]func(context.Context, billv1.BillServiceClient) error{
	"Pay": func(ctx context.Context, c billv1.BillServiceClient) error {
		_, err := c.Pay(ctx, payRequest(42))
		return err
	},
	"Close": func(ctx context.Context, c billv1.BillServiceClient) error {
		_, err := c.Close(ctx, payRequest(42))
		return err
	},
	"Read": func(ctx context.Context, c billv1.BillServiceClient) error {
		_, err := c.Read(ctx, payRequest(42))
		return err
	},
	"Get": func(ctx context.Context, c billv1.BillServiceClient) error {
		_, err := c.Get(ctx, payRequest(42))
		return err
	},
	"Follow": func(ctx context.Context, c billv1.BillServiceClient) error {
		ss, err := c.Follow(ctx, payRequest(42))
		if err != nil {
			return err
		}
		if _, err = ss.Recv(); errors.Is(err, io.EOF) {
			return nil
		}
		return err
	},
	"Import": func(ctx context.Context, c billv1.BillServiceClient) error {
		ss, err := c.Import(ctx)
		if err != nil {
			return err
		}
		_, err = ss.CloseAndRecv()
		return err
	},
}

// wrapKey is the key that Wrap gives to a declaration.
func wrapKey(t *testing.T, o distlock.Opts, params any) string {
	t.Helper()
	o.ParamLock = params != nil
	key, err := wiring.Key(o, params)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestOptionsLockAServer: each method runs under the key of its option, which is
// that of a function with the same declaration, and another holder keeps it out.
func TestOptionsLockAServer(t *testing.T) {
	pay := wrapKey(t, distlock.Opts{Prefix: "shop:", Value: "pay"}, 42)
	keys := map[string]string{
		"Pay": pay, "Follow": pay, "Read": pay,
		"Close":  wrapKey(t, distlock.Opts{Value: "close"}, nil),
		"Import": wrapKey(t, distlock.Opts{Prefix: "shop:", Value: "import"}, nil),
		"Get":    "",
	}
	s := testkit.NewStore()
	b := &bills{do: func(ctx context.Context, method string) error {
		lease, ok := distlock.FromContext(ctx)
		if want := keys[method]; ok != (want != "") || (ok && (lease.Key() != want || lease.Check() != nil)) {
			t.Errorf("%s runs under %v, want %q", method, lease, want)
		}
		return nil
	}}
	client := startBills(t, b, lockBills(testkit.NewLocker(t, s, distlock.Config{}), grpcmw.FromOptions()))
	for method, call := range calls {
		if err := call(t.Context(), client); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	b.do = func(_ context.Context, method string) error {
		if keys[method] != "" {
			t.Errorf("%s ran without its lock", method)
		}
		return nil
	}
	for _, key := range []string{pay, keys["Close"], keys["Import"]} {
		hold(t, s, key)
	}
	held := busy
	held.retry = distlock.DefaultKeyTimeout // the store knows of an hour
	for method, call := range calls {
		err := call(t.Context(), client)
		if keys[method] == "" {
			if err != nil {
				t.Errorf("%s: %v", method, err)
			}
			continue
		}
		wantStatus(t, err, held)
	}
	_, err := client.Pay(t.Context(), &billv1.PayRequest{})
	wantStatus(t, err, invalid(`field "order.id" is missing`))
}

func TestOptionsLockAClient(t *testing.T) {
	s := testkit.NewStore()
	pay := wrapKey(t, distlock.Opts{Prefix: "shop:", Value: "pay"}, 42)
	b := &bills{do: func(_ context.Context, method string) error {
		if s.Free(t, pay) != (method == "Get") {
			t.Errorf("%s: the lock is free while the server works, or not held by a caller", method)
		}
		return nil
	}}
	client := startBills(t, b, nil, grpc.WithChainUnaryInterceptor(
		grpcmw.UnaryClientInterceptor(testkit.NewLocker(t, s, distlock.Config{}), grpcmw.FromOptions().Unary())))
	for _, method := range []string{"Pay", "Get"} {
		if err := calls[method](t.Context(), client); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
}

const billMethod = "/distlock.test.bill.v1.BillService/"

// TestOptionsInAProtoFile reads the options in bill.proto.
func TestOptionsInAProtoFile(t *testing.T) {
	text := func(o distlock.Opts) string { return fmt.Sprintf("%+v", o) }
	declared := map[string]distlock.Opts{}
	var order []string
	grpcmw.FromOptions().Adjust(func(method string, o *distlock.Opts) {
		declared[method] = *o
		order = append(order, method)
	})
	if !slices.IsSorted(order) || len(order) != 6 {
		t.Errorf("the methods with a lock are %q", order)
	}
	want := distlock.Opts{
		Prefix: "audit:", Value: "v1", ParamLock: true, KeyTimeout: 3 * time.Second, RetryCount: 7,
		RetryInterval: 20 * time.Millisecond, MaxWait: 3 * time.Second, Permits: 4, MaxHold: time.Minute, MinHold: 1500 * time.Millisecond,
		Fencing: true, MaxWaiters: 9,
	}
	audit := declared[billMethod+"Audit"]
	if text(audit) != text(want) {
		t.Errorf("Audit is declared as\n%+v, want\n%+v", audit, want)
	}
	if read := declared[billMethod+"Read"]; read.Mode != distlock.Shared {
		t.Errorf("Read is declared as %+v", read)
	}
	if pay := declared[billMethod+"Pay"]; text(pay) != text(distlock.Opts{
		Prefix: "shop:", Value: "pay", ParamLock: true, KeyTimeout: 10 * time.Second, RetryCount: 1,
	}) {
		t.Errorf("Pay is declared as %+v", pay)
	}
}

// TestOptionsOfOtherKinds: an interceptor refuses the lock of a method that it
// does not see, because no other takes it.
func TestOptionsOfOtherKinds(t *testing.T) {
	l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
	for _, c := range []struct {
		explanation string
		wire        func()
		want        []string // parts of the panic
	}{
		{
			"streams for the unary interceptor", func() { grpcmw.UnaryServerInterceptor(l, grpcmw.FromOptions()) },
			[]string{billMethod + `Follow": the method streams`, billMethod + `Import": the method streams`},
		},
		{
			"unary methods for the stream interceptor", func() { grpcmw.StreamServerInterceptor(l, grpcmw.FromOptions()) },
			[]string{billMethod + `Pay": the method does not stream`},
		},
		{
			"streams for the client", func() { grpcmw.UnaryClientInterceptor(l, grpcmw.FromOptions()) },
			[]string{billMethod + `Import": the method streams: clients can lock unary methods only`},
		},
		{
			"what was adjusted", func() {
				grpcmw.UnaryServerInterceptor(l, grpcmw.FromOptions().Unary().Adjust(func(_ string, o *distlock.Opts) { o.RetryCount = -1 }))
			},
			[]string{billMethod + `Pay": distlock: options: RetryCount is negative: -1`},
		},
		{"nothing to adjust with", func() { grpcmw.FromOptions().Adjust(nil) }, []string{"grpcmw: Adjust: nil function"}},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			defer func() {
				text := fmt.Sprint(recover())
				for _, part := range c.want {
					if !strings.Contains(text, part) {
						t.Errorf("panic\n%s\nwithout\n%s", text, part)
					}
				}
			}()
			c.wire()
		})
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
