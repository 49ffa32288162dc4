package main

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

// grpcPlan is httpPlan over gRPC.
type grpcPlan struct {
	cfg   *config
	conns []*grpc.ClientConn
	shops []shopv1.ShopServiceClient // one for each connection
	order func(shopv1.ShopServiceClient, context.Context, *shopv1.PlaceOrderRequest, ...grpc.CallOption) (*shopv1.PlaceOrderResponse, error)
	url   string
}

// usersPerConn is below the number of streams that HTTP/2 servers commonly allow on one
// connection. With more users, calls would wait in the client.
const usersPerConn = 100

// openGRPCPlan fills the stock, and so checks that the service answers.
func openGRPCPlan(ctx context.Context, c *config, locked bool) (plan, error) {
	p := &grpcPlan{cfg: c}
	method := shopv1.ShopService_PlaceOrder_FullMethodName
	p.order = shopv1.ShopServiceClient.PlaceOrder
	if !locked {
		method = shopv1.ShopService_PlaceOrderUnlocked_FullMethodName
		p.order = shopv1.ShopServiceClient.PlaceOrderUnlocked
	}
	p.url = "grpc://" + c.target + method

	err := p.dial()
	for key := 0; err == nil && key < c.usedKeys(); key++ {
		err = p.fill(ctx, key)
	}
	if err != nil {
		_ = p.close()
		return nil, fmt.Errorf("-target %s: %w", c.target, err)
	}
	return p, nil
}

func (p *grpcPlan) dial() error {
	for range (p.cfg.group.users + usersPerConn - 1) / usersPerConn {
		conn, err := grpc.NewClient(p.cfg.target,
			grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
		if err != nil {
			return err
		}
		p.conns = append(p.conns, conn)
		p.shops = append(p.shops, shopv1.NewShopServiceClient(conn))
	}
	return nil
}

func (p *grpcPlan) fill(ctx context.Context, key int) error {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	stock := int32(p.cfg.increments(key)) // it fits: validate limits the total
	_, err := p.shops[0].SetItem(ctx, &shopv1.SetItemRequest{Sku: sku(key), Stock: stock})
	return plain(err)
}

func (p *grpcPlan) counted(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	var sum int64
	for key := range p.cfg.usedKeys() {
		item, err := p.shops[0].GetItem(ctx, &shopv1.GetItemRequest{Sku: sku(key)})
		if err != nil {
			return 0, plain(err)
		}
		sum += int64(p.cfg.increments(key)) - int64(item.GetStock())
	}
	return sum, nil
}

func (p *grpcPlan) sample(ctx context.Context, user int) result {
	req := &shopv1.PlaceOrderRequest{Sku: sku(p.cfg.keyOf(user)), Buyer: buyer(user), Quantity: 1}
	resp, err := p.order(p.shops[user%len(p.shops)], ctx, req)
	s := status.Convert(err)
	r := result{code: s.Code().String(), message: s.Message(), url: p.url, sent: proto.Size(req), err: plain(err)}
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

func (p *grpcPlan) close() error {
	var errs []error
	for _, c := range p.conns {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
