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
// lock in an interceptor, as shop.proto declares; SetItem leaves the lock to the shop.
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
	return placeGRPC(ctx, m, a.shop.place)
}

// PlaceOrderUnlocked runs without a lock.
func (a *grpcAPI) PlaceOrderUnlocked(ctx context.Context, m *shopv1.PlaceOrderRequest) (*shopv1.PlaceOrderResponse, error) {
	return placeGRPC(ctx, m, a.shop.placeUnlocked)
}

func placeGRPC(ctx context.Context, m *shopv1.PlaceOrderRequest, place distlock.Func[order, receipt]) (*shopv1.PlaceOrderResponse, error) {
	r, err := place(ctx, orderOf(m))
	if err != nil {
		return nil, statusOf(ctx, err)
	}
	return &shopv1.PlaceOrderResponse{OrderId: r.OrderID, Sku: r.SKU, Remaining: int32(r.Remaining), Token: r.Token}, nil
}

// GetItem does not take a lock.
func (a *grpcAPI) GetItem(ctx context.Context, m *shopv1.GetItemRequest) (*shopv1.GetItemResponse, error) {
	return itemGRPC(ctx, func() (item, error) { return a.shop.stock.get(ctx, m.GetSku(), 0) })
}

// SetItem leaves the lock to the shop.
func (a *grpcAPI) SetItem(ctx context.Context, m *shopv1.SetItemRequest) (*shopv1.GetItemResponse, error) {
	return itemGRPC(ctx, func() (item, error) { return a.shop.reset(ctx, sale{SKU: m.GetSku(), Stock: int(m.GetStock())}) })
}

func itemGRPC(ctx context.Context, do func() (item, error)) (*shopv1.GetItemResponse, error) {
	it, err := do()
	if err != nil {
		return nil, statusOf(ctx, err)
	}
	return &shopv1.GetItemResponse{Sku: it.SKU, Stock: int32(it.Stock), Sold: int32(it.Sold)}, nil
}
