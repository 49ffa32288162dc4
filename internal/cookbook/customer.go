package cookbook

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/example_service/shopv1"
	"github.com/distlock-go/distlock/grpcmw"
)

// LockCustomers is an interceptor with one lock for each customer, for example
// grpcmw.Fields("buyer").
func LockCustomers(locker *distlock.Locker, customer grpcmw.Key) grpc.UnaryServerInterceptor {
	return grpcmw.UnaryServerInterceptor(locker, grpcmw.ByMethod(map[string]grpcmw.Rule{
		shopv1.ShopService_PlaceOrder_FullMethodName: {
			Key:  customer,
			Opts: distlock.Opts{Prefix: "shop:", Value: "customer", MaxWait: 5 * time.Second},
		},
	}))
}

// Authenticated takes the customer from the authentication instead of the request.
func Authenticated(customer func(ctx context.Context) string) grpcmw.Key {
	return grpcmw.KeyFunc(func(ctx context.Context, _ string, _ any) (any, error) {
		return customer(ctx), nil
	})
}
