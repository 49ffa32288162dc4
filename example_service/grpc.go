package main

import (
	"context"
	"log/slog"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/example_service/shopv1"
	"github.com/distlock-go/distlock/grpcmw"
)

// newGRPCServer returns a server of the shop, with reflection and health. PlaceOrder
// takes the lock in an interceptor, as shop.proto declares; SetItem leaves that to the
// shop.
func newGRPCServer(sh *shop, l *distlock.Locker, lock distlock.Opts, m *monitor, log *slog.Logger) *grpc.Server {
	s := grpc.NewServer(
		grpc.MaxRecvMsgSize(maxBody),
		grpc.WaitForHandlers(true), // Stop waits for them, because they use what is closed afterwards
		grpc.ChainUnaryInterceptor(
			checkRequest,
			grpcmw.UnaryServerInterceptor(l, grpcLocks(lock)),
		),
	)
	shopv1.RegisterShopServiceServer(s, &grpcAPI{shop: sh, log: log})
	reflection.Register(s)
	healthy := health.NewServer()
	m.serve = func(ok bool) {
		status := grpc_health_v1.HealthCheckResponse_NOT_SERVING
		if ok {
			status = grpc_health_v1.HealthCheckResponse_SERVING
		}
		healthy.SetServingStatus("", status)
		healthy.SetServingStatus(shopv1.ShopService_ServiceDesc.ServiceName, status)
	}
	m.serve(true)
	grpc_health_v1.RegisterHealthServer(s, healthy)
	return s
}

// grpcLocks returns the locks that shop.proto declares. The time limits of an order are
// flags, so they are not in the .proto file.
func grpcLocks(lock distlock.Opts) grpcmw.Rules {
	return grpcmw.FromOptions().Adjust(func(_ string, o *distlock.Opts) {
		o.MaxWait, o.MaxHold = lock.MaxWait, lock.MaxHold
	})
}

// checkRequest refuses bad requests. It runs before the lock is taken, so that bad
// requests do not take locks.
func checkRequest(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if m, ok := req.(*shopv1.PlaceOrderRequest); ok {
		if err := orderOf(m).validate(); err != nil {
			return nil, statusOf(ctx, err)
		}
	}
	return next(ctx, req)
}

func orderOf(m *shopv1.PlaceOrderRequest) orderRequest {
	return orderRequest{SKU: m.GetSku(), Buyer: m.GetBuyer(), Quantity: int(m.GetQuantity())}
}

// grpcAPI is the shop over gRPC.
type grpcAPI struct {
	shopv1.UnimplementedShopServiceServer

	shop *shop
	log  *slog.Logger
}

// PlaceOrder runs under the lock that the interceptor took.
func (a *grpcAPI) PlaceOrder(ctx context.Context, m *shopv1.PlaceOrderRequest) (*shopv1.PlaceOrderResponse, error) {
	o, err := a.shop.place(ctx, orderOf(m))
	return a.order(ctx, o, err)
}

// PlaceOrderUnlocked runs without a lock.
func (a *grpcAPI) PlaceOrderUnlocked(ctx context.Context, m *shopv1.PlaceOrderRequest) (*shopv1.PlaceOrderResponse, error) {
	o, err := a.shop.placeUnlocked(ctx, orderOf(m))
	return a.order(ctx, o, err)
}

// GetItem does not take a lock.
func (a *grpcAPI) GetItem(ctx context.Context, m *shopv1.GetItemRequest) (*shopv1.GetItemResponse, error) {
	it, err := a.shop.item(ctx, m.GetSku())
	return a.item(ctx, it, err)
}

// SetItem leaves the lock to the shop.
func (a *grpcAPI) SetItem(ctx context.Context, m *shopv1.SetItemRequest) (*shopv1.GetItemResponse, error) {
	it, err := a.shop.reset(ctx, stockRequest{SKU: m.GetSku(), Stock: int(m.GetStock())})
	return a.item(ctx, it, err)
}

func (a *grpcAPI) order(ctx context.Context, o order, err error) (*shopv1.PlaceOrderResponse, error) {
	if err != nil {
		return nil, a.fail(ctx, err)
	}
	return &shopv1.PlaceOrderResponse{OrderId: o.ID, Sku: o.SKU, Remaining: int32(o.Remaining), Token: o.Token}, nil
}

func (a *grpcAPI) item(ctx context.Context, it item, err error) (*shopv1.GetItemResponse, error) {
	if err != nil {
		return nil, a.fail(ctx, err)
	}
	return &shopv1.GetItemResponse{Sku: it.SKU, Stock: int32(it.Stock), Sold: int32(it.Sold)}, nil
}
