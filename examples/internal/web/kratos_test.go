package web_test

import (
	"context"
	stderrors "errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-kratos/kratos/v2/errors"
	"github.com/go-kratos/kratos/v2/log"
	"github.com/go-kratos/kratos/v2/middleware"
	"github.com/go-kratos/kratos/v2/middleware/recovery"
	"github.com/go-kratos/kratos/v2/transport"
	kgrpc "github.com/go-kratos/kratos/v2/transport/grpc"
	khttp "github.com/go-kratos/kratos/v2/transport/http"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/example_service/shopv1"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func init() { log.SetLogger(log.NewStdLogger(io.Discard)) }

// kratosLock makes an interceptor of gRPC a middleware of Kratos, for both of its transports.
func kratosLock(lock grpc.UnaryServerInterceptor) middleware.Middleware {
	return func(next middleware.Handler) middleware.Handler {
		return func(ctx context.Context, req any) (any, error) {
			tr, ok := transport.FromServerContext(ctx)
			if !ok {
				return nil, errors.InternalServer(grpcmw.ReasonInternal, "not in a server")
			}
			reply, err := lock(ctx, req, &grpc.UnaryServerInfo{FullMethod: tr.Operation()}, grpc.UnaryHandler(next))
			if after := httpmw.ProblemOf(err).RetryAfter; after > 0 {
				tr.ReplyHeader().Set("Retry-After", fmt.Sprint(math.Ceil(after.Seconds())))
			}
			return reply, err
		}
	}
}

// errNoItem is an error of a handler.
var errNoItem = errors.NotFound("NO_ITEM", "no such item")

func TestKratosHTTP(t *testing.T) {
	testRPC(t, startKratosHTTP(0), answers{
		empty: outcome{http.StatusNotFound, ""},
		ok:    http.StatusOK, panics: http.StatusInternalServerError,
		busy: outcome{http.StatusConflict, grpcmw.ReasonBusy}, badKey: outcome{http.StatusBadRequest, grpcmw.ReasonKey},
		away: outcome{http.StatusServiceUnavailable, grpcmw.ReasonUnavailable}, lost: outcome{http.StatusBadRequest, grpcmw.ReasonLost},
	}, errNoItem, http.StatusNotFound)
}

func TestKratosGRPC(t *testing.T) {
	testRPC(t, startKratosGRPC, rpcCodes, errNoItem, int(codes.NotFound))
}

// startKratosHTTP registers what protoc-gen-go-http generates for
// option (google.api.http) = {post: "/orders/{sku}" body: "*"}.
func startKratosHTTP(timeout time.Duration) func(*testing.T, *distlock.Locker, distlock.Opts, func(rpc) error) call {
	return func(t *testing.T, l *distlock.Locker, o distlock.Opts, handler func(rpc) error) call {
		t.Helper()
		s := khttp.NewServer(khttp.Address("127.0.0.1:0"), khttp.Timeout(timeout), khttp.Middleware(recovery.Recovery(), kratosLock(interceptor(l, o))))
		s.Route("/").POST("/orders/{sku}", func(c khttp.Context) error {
			var in shopv1.PlaceOrderRequest
			if err := c.Bind(&in); err != nil {
				return err
			}
			if err := c.BindVars(&in); err != nil {
				return err
			}
			khttp.SetOperation(c, method)
			out, err := c.Middleware(func(ctx context.Context, req any) (any, error) { return shop(handler).serve(ctx, req) })(c, &in)
			if err != nil {
				return err
			}
			return c.Result(http.StatusOK, out)
		})
		url := "http://" + serveKratos(t, s)
		return func(ctx context.Context, order string) (answer, error) {
			return send(ctx, url+"/orders/"+order, strings.NewReader("{}"))
		}
	}
}

// shop is the service.
type shop func(rpc) error

func (s shop) serve(ctx context.Context, req any) (*shopv1.PlaceOrderResponse, error) {
	reply := &shopv1.PlaceOrderResponse{}
	return reply, s(rpc{ctx, req.(*shopv1.PlaceOrderRequest), reply})
}

type grpcShop struct {
	shopv1.UnimplementedShopServiceServer
	shop
}

func (s grpcShop) PlaceOrder(ctx context.Context, r *shopv1.PlaceOrderRequest) (*shopv1.PlaceOrderResponse, error) {
	return s.serve(ctx, r)
}

func startKratosGRPC(t *testing.T, l *distlock.Locker, o distlock.Opts, handler func(rpc) error) call {
	t.Helper()
	s := kgrpc.NewServer(kgrpc.Address("127.0.0.1:0"), kgrpc.Timeout(0), kgrpc.Middleware(recovery.Recovery(), kratosLock(interceptor(l, o))))
	shopv1.RegisterShopServiceServer(s, grpcShop{shop: handler})
	conn, err := kgrpc.DialInsecure(t.Context(), kgrpc.WithEndpoint(serveKratos(t, s)), kgrpc.WithTimeout(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return func(ctx context.Context, order string) (answer, error) {
		got, err := shopv1.NewShopServiceClient(conn).PlaceOrder(ctx, &shopv1.PlaceOrderRequest{Sku: order})
		if s := status.Convert(err); err != nil && ctx.Err() == nil {
			a := answer{code: int(s.Code())}
			a.retryAfter, a.body = read(s.Details())
			return a, nil
		}
		return answer{body: got.GetSku()}, err
	}
}

// serveKratos starts a server, and returns its address.
func serveKratos(t *testing.T, s interface {
	transport.Server
	transport.Endpointer
}) string {
	t.Helper()
	addr, err := s.Endpoint()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	t.Cleanup(func() { testkit.WantIs(t, stderrors.Join(s.Stop(ctx), <-ended)) })
	return addr.Host
}

// TestKratosTimeout: a call whose wait ends with the server's Timeout is answered with
// 504.
func TestKratosTimeout(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	call := startKratosHTTP(50*time.Millisecond)(t, l, waiting, func(rpc) error { t.Error("it ran"); return nil })
	held := testkit.MustAcquire(t, l, "shop:pay:42", distlock.Opts{})
	if a := call.must(t, "42"); a.code != http.StatusGatewayTimeout || !strings.Contains(a.body, grpcmw.ReasonBusy) {
		t.Errorf("%+v", a)
	}
	testkit.WantIs(t, held.Release(t.Context()))
}
