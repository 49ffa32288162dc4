package cookbook

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/cookbook/orderv1"
)

// NewServer returns a server with the locks that the .proto files declare.
func NewServer(locker *distlock.Locker, orders orderv1.OrderServiceServer) *grpc.Server {
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(
		grpcmw.UnaryServerInterceptor(locker, grpcmw.FromOptions()),
	))
	orderv1.RegisterOrderServiceServer(server, orders)
	return server
}

// LockCustomers is an interceptor that takes the customer from the authentication instead
// of the request.
func LockCustomers(locker *distlock.Locker, customer func(ctx context.Context) string) grpc.UnaryServerInterceptor {
	return grpcmw.UnaryServerInterceptor(locker, grpcmw.ByMethod(map[string]grpcmw.Rule{
		orderv1.OrderService_Place_FullMethodName: {
			Key: grpcmw.KeyFunc(func(ctx context.Context, _ string, _ any) (any, error) {
				return customer(ctx), nil
			}),
			Opts: distlock.Opts{Prefix: "shop:", Value: "customer", MaxWait: 5 * time.Second},
		},
	}))
}
