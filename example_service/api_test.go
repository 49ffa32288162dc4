package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/example_service/shopv1"
)

// api is a shop behind its two servers.
type api struct {
	shop   *shop
	locker *distlock.Locker
	url    string
	rpc    shopv1.ShopServiceClient
}

func newAPI(t *testing.T, c config, stock int) *api {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	t.Cleanup(func() { _ = client.Close() })
	sh, l := newTestShop(t, client, c, stock)
	mux := http.NewServeMux()
	shopRoutes(mux, sh, l, itemLock(c))
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newGRPCServer(sh, l, itemLock(c))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &api{sh, l, web.URL, shopv1.NewShopServiceClient(conn)}
}

// do sends a request and returns the status and the body.
func do(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// While another caller has the lock, each way to change an item is refused, and
// afterwards each succeeds. So the path of HTTP, shop.proto and the methods declare one
// lock.
func TestAllWaysTakeOneLock(t *testing.T) {
	a := newAPI(t, config{wait: 100 * time.Millisecond}, 10)
	request := func(method, path, body string) func(context.Context) error {
		return func(context.Context) error {
			if status, answer := do(t, method, a.url+path, body); status >= 300 {
				return errors.New(answer)
			}
			return nil
		}
	}
	ways := map[string]func(context.Context) error{
		"method":     func(ctx context.Context) error { _, err := a.shop.place(ctx, order{"tea", "u1", 1}); return err },
		"HTTP order": request("POST", "/items/tea/orders", `{"buyer":"u1","quantity":1}`),
		"HTTP put":   request("PUT", "/items/tea", `{"stock":10}`),
		"gRPC order": func(ctx context.Context) error {
			_, err := a.rpc.PlaceOrder(ctx, &shopv1.PlaceOrderRequest{Sku: "tea", Buyer: "u1", Quantity: 1})
			return err
		},
	}
	lease, err := a.locker.Acquire(t.Context(), "shop:item:tea", distlock.Opts{})
	if err != nil {
		t.Fatal(err)
	}
	for name, way := range ways {
		if err := way(t.Context()); err == nil {
			t.Errorf("%s succeeds while another caller has the lock", name)
		}
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, way := range ways {
		if err := way(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The answers to requests that cannot succeed.
func TestAnswers(t *testing.T) {
	a := newAPI(t, testConfig, 0)
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", "/items/tea/orders", `{"buyer":"u1","quantity":1}`, 409, "sold_out"},
		{"POST", "/items/coffee/orders", `{"buyer":"u1","quantity":1}`, 404, "unknown_sku"},
		{"POST", "/items/tea/orders", `{"buyer":"u1","quantity":0}`, 400, "quantity: want at least 1, got 0"},
		{"POST", "/items/tea/orders", `{"buyer":"","quantity":1}`, 400, "buyer: is empty"},
		{"POST", "/items/tea/orders", `{"buyer":"u1","quantity":1,"x":1}`, 400, "unknown field"},
		{"POST", "/items/a%20b/orders", `{"buyer":"u1","quantity":1}`, 400, "sku: want 1 to 64"},
		{"PUT", "/items/tea", `{}`, 400, "stock: want 0 or more"},
		{"GET", "/items/coffee", "", 404, "unknown_sku"},
		{"PUT", "/items/tea", "{", 400, "unexpected EOF"},
		{"GET", "/healthz", "", 200, "ok"},
	} {
		if status, body := do(t, c.method, a.url+c.path, c.body); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, status, body)
		}
	}
	for _, c := range []struct {
		order *shopv1.PlaceOrderRequest
		code  codes.Code
	}{
		{&shopv1.PlaceOrderRequest{Sku: "tea", Buyer: "u1", Quantity: 1}, codes.FailedPrecondition},
		{&shopv1.PlaceOrderRequest{Sku: "coffee", Buyer: "u1", Quantity: 1}, codes.NotFound},
		{&shopv1.PlaceOrderRequest{Sku: "tea", Buyer: "u1"}, codes.InvalidArgument},
	} {
		if _, err := a.rpc.PlaceOrder(t.Context(), c.order); status.Code(err) != c.code {
			t.Errorf("%v: %v, want %v", c.order, err, c.code)
		}
	}
}
