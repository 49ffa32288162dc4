package grpcmw_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/example_service/shopv1"
	"github.com/distlock-go/distlock/grpcmw"
)

// orders is a service with one order per request.
type orders struct {
	shopv1.UnimplementedShopServiceServer
}

func (orders) PlaceOrder(ctx context.Context, r *shopv1.PlaceOrderRequest) (*shopv1.PlaceOrderResponse, error) {
	lease, _ := distlock.FromContext(ctx)
	return &shopv1.PlaceOrderResponse{Sku: r.GetSku()}, lease.Check() // before what is done is committed
}

// dial serves srv in memory.
func dial(srv *grpc.Server, opts ...grpc.DialOption) *grpc.ClientConn {
	l := bufconn.Listen(1 << 10)
	go func() { _ = srv.Serve(l) }() // until Stop
	cc, err := grpc.NewClient("passthrough:///shop", append(opts,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }),
	)...)
	if err != nil {
		log.Fatal(err)
	}
	return cc
}

// ExampleUnaryServerInterceptor locks one method by a field of its request: a customer has one
// order at a time.
func ExampleUnaryServerInterceptor() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	srv := grpc.NewServer(grpc.ChainUnaryInterceptor(
		grpcmw.UnaryServerInterceptor(locker, grpcmw.ByMethod(map[string]grpcmw.Rule{
			shopv1.ShopService_PlaceOrder_FullMethodName: {
				Key:  grpcmw.Fields("buyer"),
				Opts: distlock.Opts{Prefix: "shop:", Value: "customer", MaxWait: 5 * time.Second},
			},
		})),
	))
	shopv1.RegisterShopServiceServer(srv, orders{})
	defer srv.Stop()
	cc := dial(srv)
	defer cc.Close()
	client := shopv1.NewShopServiceClient(cc)

	resp, err := client.PlaceOrder(context.Background(), &shopv1.PlaceOrderRequest{Sku: "tea", Buyer: "u1"})
	fmt.Println(resp.GetSku(), err)

	_, err = client.PlaceOrder(context.Background(), &shopv1.PlaceOrderRequest{Sku: "tea"})
	fmt.Println(err)
	// Output:
	// tea <nil>
	// rpc error: code = InvalidArgument desc = field "buyer" is empty
}

// ExampleFromOptions locks methods by what their .proto file says:
//
//	rpc PlaceOrder(PlaceOrderRequest) returns (PlaceOrderResponse) {
//	  option (distlock.v1.lock) = {prefix: "shop:" value: "item" params: ["sku"] key_timeout: {seconds: 3}};
//	}
func ExampleFromOptions() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	rules := grpcmw.FromOptions()
	srv := grpc.NewServer(
		grpc.ChainUnaryInterceptor(grpcmw.UnaryServerInterceptor(locker, rules.Unary())),
		grpc.ChainStreamInterceptor(grpcmw.StreamServerInterceptor(locker, rules.Streams())),
	)
	shopv1.RegisterShopServiceServer(srv, orders{})
	defer srv.Stop()
	cc := dial(srv)
	defer cc.Close()
	client := shopv1.NewShopServiceClient(cc)

	resp, err := client.PlaceOrder(context.Background(), &shopv1.PlaceOrderRequest{Sku: "tea"})
	fmt.Println(resp.GetSku(), err)

	_, err = client.PlaceOrder(context.Background(), &shopv1.PlaceOrderRequest{})
	fmt.Println(err)
	// Output:
	// tea <nil>
	// rpc error: code = InvalidArgument desc = field "sku" is empty
}

// ExampleRules_Adjust lets no call wait, whatever the .proto files say.
func ExampleRules_Adjust() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	rules := grpcmw.FromOptions().Unary().Adjust(func(_ string, o *distlock.Opts) { o.RetryCount = 1 })
	srv := grpc.NewServer(grpc.ChainUnaryInterceptor(grpcmw.UnaryServerInterceptor(locker, rules)))
	srv.Stop()
	// Output:
}

// ExampleParams takes the tenant from the authentication and the order from the request,
// and does not lock calls that only try.
func ExampleParams() {
	type user struct{ tenant string }
	authenticated := func(context.Context) (user, bool) { return user{tenant: "north"}, true }

	tenant := grpcmw.KeyFunc(func(ctx context.Context, _ string, _ any) (any, error) {
		if len(metadata.ValueFromIncomingContext(ctx, "dry-run")) > 0 {
			return distlock.Skip, nil
		}
		u, ok := authenticated(ctx)
		if !ok {
			return nil, &distlock.KeyError{Detail: "no user"}
		}
		return u.tenant, nil
	})
	key := grpcmw.Params(tenant, grpcmw.Fields("response_size"))

	fmt.Println(key.Params(context.Background(), "/shop.v1.ShopService/Pay", &testpb.SimpleRequest{ResponseSize: 42}))
	// Output: [north 42] <nil>
}
