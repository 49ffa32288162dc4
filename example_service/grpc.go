package main

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/example_service/shopv1"
	"github.com/distlock-go/distlock/grpcmw"
)

// newGRPCServer returns a server of the shop, with reflection. PlaceOrder takes the
// lock in an interceptor, as shop.proto declares.
func newGRPCServer(sh *shop, l *distlock.Locker, lock distlock.Opts) *grpc.Server {
	s := grpc.NewServer(
		grpc.WaitForHandlers(true), // they use what is closed after Stop
		grpc.ChainUnaryInterceptor(
			checkRequest, // a bad request does not take a lock
			grpcmw.UnaryServerInterceptor(l, grpcLocks(lock)),
		),
	)
	shopv1.RegisterShopServiceServer(s, &grpcAPI{shop: sh})
	reflection.Register(s)
	return s
}

// grpcLocks returns the locks of shop.proto. Some options of the lock are flags of this
// command, so they are not in the .proto file.
func grpcLocks(lock distlock.Opts) grpcmw.Rules {
	return grpcmw.FromOptions().Adjust(func(_ string, o *distlock.Opts) {
		o.MaxWait, o.MaxHold = lock.MaxWait, lock.MaxHold
	})
}

func checkRequest(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if m, ok := req.(*shopv1.PlaceOrderRequest); ok {
		if err := orderOf(m).validate(); err != nil {
			return nil, statusOf(ctx, err)
		}
	}
	return next(ctx, req)
}

func orderOf(m *shopv1.PlaceOrderRequest) order {
	return order{SKU: m.GetSku(), Buyer: m.GetBuyer(), Quantity: int(m.GetQuantity())}
}

// grpcAPI is the shop over gRPC.
type grpcAPI struct {
	shopv1.UnimplementedShopServiceServer

	shop *shop
}

// PlaceOrder runs under the lock that the interceptor took.
func (a *grpcAPI) PlaceOrder(ctx context.Context, m *shopv1.PlaceOrderRequest) (*shopv1.PlaceOrderResponse, error) {
	r, err := a.shop.place(ctx, orderOf(m))
	if err != nil {
		return nil, statusOf(ctx, err)
	}
	return &shopv1.PlaceOrderResponse{OrderId: r.OrderID, Sku: r.SKU, Remaining: int32(r.Remaining), Token: r.Token}, nil
}
