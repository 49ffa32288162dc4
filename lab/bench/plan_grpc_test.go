package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock/example_service/shopv1"
)

// fakeGRPC serves a fakeShop over gRPC.
type fakeGRPC struct {
	shopv1.UnimplementedShopServiceServer
	*fakeShop
}

func serveGRPC(t *testing.T) (*fakeShop, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	shop := newFakeShop()
	shopv1.RegisterShopServiceServer(s, fakeGRPC{fakeShop: shop})
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		<-done
	})
	return shop, l.Addr().String()
}

func (f fakeGRPC) SetItem(_ context.Context, m *shopv1.SetItemRequest) (*shopv1.GetItemResponse, error) {
	f.reset(m.GetSku(), int64(m.GetStock()))
	return &shopv1.GetItemResponse{Sku: m.GetSku(), Stock: m.GetStock()}, nil
}

func (f fakeGRPC) GetItem(_ context.Context, m *shopv1.GetItemRequest) (*shopv1.GetItemResponse, error) {
	i := f.item(m.GetSku())
	return &shopv1.GetItemResponse{Sku: m.GetSku(), Stock: int32(i.stock.Load()), Sold: int32(i.sold.Load())}, nil
}

func (f fakeGRPC) PlaceOrder(_ context.Context, m *shopv1.PlaceOrderRequest) (*shopv1.PlaceOrderResponse, error) {
	return f.place(m, true)
}

func (f fakeGRPC) PlaceOrderUnlocked(_ context.Context, m *shopv1.PlaceOrderRequest) (*shopv1.PlaceOrderResponse, error) {
	return f.place(m, false)
}

func (f fakeGRPC) place(m *shopv1.PlaceOrderRequest, locked bool) (*shopv1.PlaceOrderResponse, error) {
	if m.GetBuyer() == "" || m.GetQuantity() != 1 {
		return nil, status.Error(codes.InvalidArgument, "buyer or quantity")
	}
	left, ok := f.order(m.GetSku(), locked)
	if !ok {
		return nil, status.Error(codes.FailedPrecondition, "sold out")
	}
	return &shopv1.PlaceOrderResponse{OrderId: 1, Sku: m.GetSku(), Remaining: int32(left), Token: 1}, nil
}

func TestGRPCPlan(t *testing.T) {
	t.Parallel()
	shop, addr := serveGRPC(t)
	jtl := filepath.Join(t.TempDir(), "out.jtl")
	got := runArgs(t.Context(), "-plan", "grpc", "-target", addr, "-users", "101", "-loops", "2", "-ramp-up", "0", "-think", "0", "-keys", "2", "-jtl", jtl)
	got.wantCode(t, 0)
	wantContains(t, got.stdout, "grpc lock: 202 of 202 increments\n")
	wantContains(t, got.stdout, " of 202 increments, ") // some are lost
	shop.wantSold(t, map[string]int64{"bench-1": 102, "bench-2": 100})

	text, err := os.ReadFile(jtl)
	if err != nil {
		t.Fatal(err)
	}
	lines := parseJTL(t, string(text))
	if len(lines) != 404 {
		t.Fatalf("%d lines, want 404", len(lines))
	}
	for i, line := range lines {
		method := "/shop.v1.ShopService/PlaceOrder"
		if i >= 202 {
			method += "Unlocked"
		}
		if line["responseCode"] != "OK" || line["URL"] != "grpc://"+addr+method || line["bytes"] == "0" || line["sentBytes"] == "0" {
			t.Fatalf("line %d: %v", i+1, line)
		}
	}
}

func TestGRPCPlanRefused(t *testing.T) {
	t.Parallel()
	shop, addr := serveGRPC(t)
	shop.refuse.Store(true)
	got := runArgs(t.Context(), "-plan", "grpc", "-target", addr, "-users", "2", "-loops", "2", "-ramp-up", "0", "-think", "0", "-lock", "off")
	got.wantCode(t, 1)
	if want := "bench: grpc no lock: all samples failed, the first with: FailedPrecondition: sold out\n"; got.stderr != want {
		t.Errorf("stderr %q, want %q", got.stderr, want)
	}
}

// A service without the methods that the plan needs is reported as such.
func TestGRPCPlanOtherService(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	got := runArgs(t.Context(), "-plan", "grpc", "-target", l.Addr().String())
	s.Stop()
	<-done
	got.wantCode(t, 1)
	if !strings.HasPrefix(got.stderr, "bench: -target "+l.Addr().String()+": Unimplemented: ") {
		t.Error(got.stderr)
	}
}
