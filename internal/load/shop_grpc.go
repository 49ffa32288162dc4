package load

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/distlock-go/distlock/example_service/shopv1"
)

// grpcShop is a shop over gRPC.
type grpcShop struct {
	conns []*grpc.ClientConn
	place func(shopv1.ShopServiceClient, context.Context, *shopv1.PlaceOrderRequest, ...grpc.CallOption) (*shopv1.PlaceOrderResponse, error)
	url   string
}

// usersPerConn is below the number of streams that HTTP/2 servers commonly allow on one
// connection. With more users, calls would wait in the client.
const usersPerConn = 100

func newGRPCShop(c *config, locked bool) (*grpcShop, error) {
	s := &grpcShop{place: shopv1.ShopServiceClient.PlaceOrder, url: "grpc://" + c.target + shopv1.ShopService_PlaceOrder_FullMethodName}
	if !locked {
		s.place = shopv1.ShopServiceClient.PlaceOrderUnlocked
		s.url = "grpc://" + c.target + shopv1.ShopService_PlaceOrderUnlocked_FullMethodName
	}
	for range (c.group.users + usersPerConn - 1) / usersPerConn {
		conn, err := grpc.NewClient(c.target, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
		if err != nil {
			return nil, errors.Join(fmt.Errorf("-target %s: %w", c.target, err), s.close())
		}
		s.conns = append(s.conns, conn)
	}
	return s, nil
}

func (s *grpcShop) setStock(ctx context.Context, sku string, stock int) error {
	m := &shopv1.SetItemRequest{Sku: sku, Stock: int32(stock)} // it fits: validate limits the total
	_, err := shopv1.NewShopServiceClient(s.conns[0]).SetItem(ctx, m)
	return plain(err)
}

func (s *grpcShop) stock(ctx context.Context, sku string) (int, error) {
	item, err := shopv1.NewShopServiceClient(s.conns[0]).GetItem(ctx, &shopv1.GetItemRequest{Sku: sku})
	return int(item.GetStock()), plain(err)
}

func (s *grpcShop) order(ctx context.Context, user int, sku, buyer string) result {
	client := shopv1.NewShopServiceClient(s.conns[user%len(s.conns)])
	req := &shopv1.PlaceOrderRequest{Sku: sku, Buyer: buyer, Quantity: 1}
	resp, err := s.place(client, ctx, req)
	st := status.Convert(err)
	r := result{code: st.Code().String(), message: st.Message(), url: s.url, sent: proto.Size(req), err: plain(err)}
	if err == nil {
		r.message, r.received = "OK", proto.Size(resp)
	}
	return r
}

// plain returns a gRPC error as code and message, without the usual prefix.
func plain(err error) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	return fmt.Errorf("%s: %s", s.Code(), s.Message())
}

func (s *grpcShop) close() error {
	var errs []error
	for _, c := range s.conns {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
