package kratoslock_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-kratos/kratos/v2/errors"
	"github.com/go-kratos/kratos/v2/log"
	"github.com/go-kratos/kratos/v2/middleware/recovery"
	"github.com/go-kratos/kratos/v2/transport"
	kgrpc "github.com/go-kratos/kratos/v2/transport/grpc"
	khttp "github.com/go-kratos/kratos/v2/transport/http"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/example_service/shopv1"
	"github.com/distlock-go/distlock/examples/kratoslock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func init() { log.SetLogger(log.NewStdLogger(io.Discard)) }

type (
	request  = shopv1.PlaceOrderRequest
	response = shopv1.PlaceOrderResponse
)

// shop is a service whose lock, of the sku, is an option in its .proto file.
type shop struct {
	shopv1.UnimplementedShopServiceServer
	order func(context.Context, *request) (*response, error)
}

func (s shop) PlaceOrder(ctx context.Context, r *request) (*response, error) { return s.order(ctx, r) }

// register does what the code does that protoc-gen-go-http generates for
// option (google.api.http) = {post: "/items/{sku}/orders" body: "*"}.
func register(s *khttp.Server, srv shopv1.ShopServiceServer) {
	s.Route("/").POST("/items/{sku}/orders", func(ctx khttp.Context) error {
		var in request
		if err := ctx.Bind(&in); err != nil {
			return err
		}
		if err := ctx.BindVars(&in); err != nil {
			return err
		}
		khttp.SetOperation(ctx, shopv1.ShopService_PlaceOrder_FullMethodName)
		h := ctx.Middleware(func(ctx context.Context, req any) (any, error) {
			return srv.PlaceOrder(ctx, req.(*request))
		})
		out, err := h(ctx, &in)
		if err != nil {
			return err
		}
		return ctx.Result(http.StatusOK, out.(*response))
	})
}

// order sends a call.
type order func(sku string) (*response, error)

// serve starts servers of both transports with one middleware, and returns their clients and
// the address for HTTP.
func serve(t *testing.T, l *distlock.Locker, srv shop) (overHTTP, overGRPC order, url string) {
	t.Helper()
	ctx := t.Context()
	rules := grpcmw.FromOptions().Unary().Adjust(func(_ string, o *distlock.Opts) { o.RetryCount = 1 })
	lock := kratoslock.Use(grpcmw.UnaryServerInterceptor(l, rules))
	hs := khttp.NewServer(khttp.Address("127.0.0.1:0"), khttp.Timeout(0), khttp.Middleware(recovery.Recovery(), lock))
	register(hs, srv)
	gs := kgrpc.NewServer(kgrpc.Address("127.0.0.1:0"), kgrpc.Timeout(0), kgrpc.Middleware(recovery.Recovery(), lock))
	shopv1.RegisterShopServiceServer(gs, srv)
	addrs := map[transport.Server]string{}
	for _, s := range []interface {
		transport.Server
		transport.Endpointer
	}{hs, gs} {
		addr, err := s.Endpoint()
		if err != nil {
			t.Fatal(err)
		}
		addrs[s] = addr.Host
		ended := make(chan error, 1)
		go func() { ended <- s.Start(context.WithoutCancel(ctx)) }()
		t.Cleanup(func() {
			if err := s.Stop(context.WithoutCancel(ctx)); err != nil {
				t.Error(err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	hc, err := khttp.NewClient(ctx, khttp.WithEndpoint(addrs[hs]), khttp.WithTimeout(0))
	if err != nil {
		t.Fatal(err)
	}
	gc, err := kgrpc.DialInsecure(ctx, kgrpc.WithEndpoint(addrs[gs]), kgrpc.WithTimeout(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = hc.Close(), gc.Close() })
	overHTTP = func(sku string) (*response, error) {
		out := new(response)
		return out, hc.Invoke(ctx, http.MethodPost, "/items/"+sku+"/orders", &request{Buyer: "ann"}, out)
	}
	overGRPC = func(sku string) (*response, error) {
		return shopv1.NewShopServiceClient(gc).PlaceOrder(ctx, &request{Sku: sku, Buyer: "ann"})
	}
	return overHTTP, overGRPC, "http://" + addrs[hs]
}

// post sends a request and returns the header Retry-After and the body of the answer.
func post(t *testing.T, url, sku string) (retryAfter, body string) {
	t.Helper()
	resp, err := http.Post(url+"/items/"+sku+"/orders", "application/json", strings.NewReader("{}")) //nolint:noctx // it ends
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Header.Get("Retry-After"), string(text)
}

// want checks the error of a call, as a client of Kratos reads it.
func want(t *testing.T, what string, err error, code int, reason string) {
	t.Helper()
	if errors.Code(err) != code || errors.Reason(err) != reason {
		t.Errorf("%s: %v, want %d %s", what, err, code, reason)
	}
}

// TestUse: while a call has the lock of its sku, another one for it is refused over both
// transports and does not run, and one for another sku runs. The sku is a path value over
// HTTP and a field over gRPC.
func TestUse(t *testing.T) {
	t.Parallel()
	store := testkit.NewStore()
	l := testkit.NewLocker(t, store, distlock.Config{})
	inside := func() {}
	overHTTP, overGRPC, url := serve(t, l, shop{order: func(ctx context.Context, r *request) (*response, error) {
		if lease, ok := distlock.FromContext(ctx); !ok || lease.Check() != nil {
			t.Error("the context of the handler has no lease")
		}
		f := inside
		inside = func() {}
		f()
		if r.GetSku() == "sold out" {
			return nil, grpcmw.StatusError(ctx, distlock.ErrUnavailable) // of a call to another service
		}
		return &response{Sku: r.GetSku()}, nil
	}})
	for name, first := range map[string]order{"http": overHTTP, "grpc": overGRPC} {
		inside = func() {
			for name, other := range map[string]order{"http": overHTTP, "grpc": overGRPC} {
				_, err := other("tea")
				want(t, name+": the same sku", err, http.StatusConflict, grpcmw.ReasonBusy)
				if r, err := other("milk"); err != nil || r.GetSku() != "milk" {
					t.Errorf("%s: another sku: %v, %v", name, r, err)
				}
			}
		}
		if r, err := first("tea"); err != nil || r.GetSku() != "tea" {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	if retryAfter, body := post(t, url, "sold%20out"); retryAfter != "" || !strings.Contains(body, `"reason":"LOCK_UNAVAILABLE"`) {
		t.Errorf("an error of the handler: %q %s", retryAfter, body)
	}
	inside = func() { t.Error("a handler ran without its lock") }
	_, err := overGRPC("")
	want(t, "no sku", err, http.StatusBadRequest, grpcmw.ReasonKey)
	store.Fail(distlock.ErrUnavailable, testkit.Try, testkit.Enqueue)
	defer store.Fail(nil)
	for name, call := range map[string]order{"http": overHTTP, "grpc": overGRPC} {
		_, err := call("tea")
		want(t, name+" without the store", err, http.StatusServiceUnavailable, grpcmw.ReasonUnavailable)
	}
	if retryAfter, body := post(t, url, "tea"); retryAfter != "1" || !strings.Contains(body, `"reason":"LOCK_UNAVAILABLE"`) {
		t.Errorf("%q %s", retryAfter, body)
	}
	_, err = kratoslock.Use(nil)(func(context.Context, any) (any, error) { return "ran", nil })(t.Context(), &request{})
	want(t, "not in a server", err, http.StatusInternalServerError, grpcmw.ReasonInternal)
}

// TestLoss: the context of the handler ends when the lock is lost, and a success after that
// is not one for the client. An error of the handler is its own, and a panic releases the
// lock.
func TestLoss(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	own := errors.NotFound("NO_ITEM", "no such item")
	overHTTP, overGRPC, _ := serve(t, l, shop{order: func(ctx context.Context, r *request) (*response, error) {
		lost := testkit.Lose(ctx, l)
		if !errors.Is(lost, distlock.ErrLost) {
			t.Errorf("the context ended with %v", lost)
		}
		switch r.GetSku() {
		case "unknown":
			return nil, own
		case "panics":
			panic(r)
		case "stopped":
			return nil, ctx.Err()
		case "checked":
			return nil, fmt.Errorf("order: %w", lost)
		default:
			return &response{}, nil
		}
	}})
	for _, sku := range []string{"tea", "stopped", "checked"} {
		_, err := overHTTP(sku)
		want(t, "http: "+sku, err, http.StatusFailedDependency, grpcmw.ReasonLost)
		_, err = overGRPC(sku)
		want(t, "grpc: "+sku, err, http.StatusBadRequest, grpcmw.ReasonLost)
		if status.Code(err) != codes.FailedPrecondition {
			t.Errorf("grpc: %s: %v", sku, err)
		}
	}
	for name, call := range map[string]order{"http": overHTTP, "grpc": overGRPC} {
		_, err := call("unknown")
		want(t, name+": the handler's own error", err, http.StatusNotFound, "NO_ITEM")
		_, err = call("panics")
		want(t, name+": a panic", err, http.StatusInternalServerError, recovery.ErrUnknownRequest.Reason)
	}
	if infos, err := admin.Inspect(t.Context(), l, "", 10); err != nil || len(infos) != 0 {
		t.Errorf("after the calls: %v, %v", infos, err)
	}
}

// TestTimeout: a call whose wait ends with the server's Timeout is answered with 504.
func TestTimeout(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	lock := kratoslock.Use(grpcmw.UnaryServerInterceptor(l, grpcmw.FromOptions().Unary())) // waits without a limit
	server := khttp.NewServer(khttp.Timeout(50*time.Millisecond), khttp.Middleware(lock))
	send := func() (int, string) {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/items/tea/orders", strings.NewReader("{}"))
		r.Header.Set("Content-Type", "application/json")
		server.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	register(server, shop{order: func(context.Context, *request) (*response, error) {
		if code, body := send(); code != http.StatusGatewayTimeout || !strings.Contains(body, grpcmw.ReasonBusy) {
			t.Errorf("a second call: %d %s", code, body)
		}
		return &response{}, nil
	}})
	if code, body := send(); code != http.StatusOK {
		t.Errorf("the first call: %d %s", code, body)
	}
}

// Example locks one operation of a Kratos server for HTTP by a field of its message.
func Example() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	lock := kratoslock.Use(grpcmw.UnaryServerInterceptor(locker, grpcmw.ByMethod(map[string]grpcmw.Rule{
		shopv1.ShopService_PlaceOrder_FullMethodName: {
			Key:  grpcmw.Fields("sku"),
			Opts: distlock.Opts{Prefix: "shop:", Value: "item", MaxWait: 500 * time.Millisecond},
		},
	})))
	server := khttp.NewServer(khttp.Middleware(lock))
	register(server, shop{order: func(ctx context.Context, r *request) (*response, error) {
		lease, _ := distlock.FromContext(ctx)
		return &response{Sku: r.GetSku()}, lease.Check()
	}})
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/items/tea/orders", strings.NewReader(`{"buyer": "ann"}`))
	r.Header.Set("Content-Type", "application/json")
	server.ServeHTTP(w, r)
	fmt.Println(w.Code, strings.ReplaceAll(w.Body.String(), " ", ""))
	// Output: 200 {"orderId":"0","sku":"tea","remaining":0,"token":"0"}
}
