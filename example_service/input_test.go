package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock/example_service/shopv1"
)

func TestBadHTTPRequests(t *testing.T) {
	redis := newStore(t)
	c := newClient(t, startService(t, "-backend", redis.url).addresses)
	c.set(t, "tea", 10)
	const orders, unlocked, tea = "/items/tea/orders", "/unlocked/items/tea/orders", "/items/tea"
	long := strings.Repeat("a", 65)
	for _, r := range []struct {
		method, path, body string
		status             int
		problem, detail    string
	}{
		{"POST", orders, ``, 400, "bad_request", "empty"},
		{"POST", orders, `{"buyer":"u1"`, 400, "bad_request", "ends within"},
		{"POST", orders, `buyer=u1`, 400, "bad_request", "invalid character"},
		{"POST", orders, `null`, 400, "bad_request", "buyer"},
		{"POST", orders, `[]`, 400, "bad_request", "want a JSON object, got array"},
		{"POST", orders, `"order"`, 400, "bad_request", "want a JSON object, got string"},
		{"POST", orders, `{}`, 400, "bad_request", "buyer: want 1"},
		{"POST", orders, `{"buyer":"u1","quantity":1,"price":0}`, 400, "bad_request", `unknown field "price"`},
		{"POST", orders, order1 + order1, 400, "bad_request", "follows"},
		{"POST", orders, order1 + `x`, 400, "bad_request", "follows"},
		{"POST", orders, `{"buyer":"` + strings.Repeat("a", maxBody) + `","quantity":1}`, 400, "bad_request", "65536 bytes"},
		{"POST", orders, order1 + strings.Repeat(" ", maxBody), 400, "bad_request", "65536 bytes"},
		{"POST", orders, `{"buyer":1,"quantity":1}`, 400, "bad_request", "buyer cannot be number"},
		{"POST", orders, `{"buyer":"u1","quantity":"1"}`, 400, "bad_request", "quantity cannot be string"},
		{"POST", orders, `{"buyer":"u1","quantity":1.5}`, 400, "bad_request", "quantity cannot be number"},
		{"POST", orders, `{"buyer":"u1","quantity":99999999999999999999}`, 400, "bad_request", "quantity cannot be number"},
		{"POST", orders, `{"buyer":"u1"}`, 400, "bad_request", "quantity: want 1 to 1000, got 0"},
		{"POST", orders, `{"buyer":"u1","quantity":0}`, 400, "bad_request", "quantity: want 1"},
		{"POST", orders, `{"buyer":"u1","quantity":-1}`, 400, "bad_request", "quantity: want 1"},
		{"POST", orders, `{"buyer":"u1","quantity":1001}`, 400, "bad_request", "quantity: want 1"},
		{"POST", orders, `{"buyer":"","quantity":1}`, 400, "bad_request", "buyer: want 1"},
		{"POST", orders, `{"buyer":"  ","quantity":1}`, 400, "bad_request", "buyer: is blank"},
		{"POST", orders, `{"buyer":"a\u0000","quantity":1}`, 400, "bad_request", "buyer: want printable"},
		{"POST", orders, "{\"buyer\":\"\xff\",\"quantity\":1}", 400, "bad_request", "buyer: want printable"},
		{"POST", orders, `{"buyer":"` + strings.Repeat("a", 129) + `","quantity":1}`, 400, "bad_request", "got 129"},
		{"POST", unlocked, ``, 400, "bad_request", "empty"},
		{"POST", unlocked, `{"buyer":"u1","quantity":0}`, 400, "bad_request", "quantity"},
		{"POST", "/items//orders", order1, 400, "bad_request", "sku: want 1 to 64"},
		{"POST", "/items/" + long + "/orders", order1, 400, "bad_request", "sku: want 1 to 64"},
		{"POST", "/items/t%65a/orders", order1, 400, "bad_request", "sku: want letters"},
		{"POST", "/items/tea%2F/orders", order1, 400, "bad_request", "sku: want letters"},
		{"POST", "/items/te%C3%A4/orders", order1, 400, "bad_request", "sku: want letters"},
		{"POST", "/items/.tea/orders", order1, 400, "bad_request", "sku: want letters"},
		{"POST", "/items/{tea}/orders", order1, 400, "bad_request", "sku: want letters"},
		{"POST", "/items/a%0Ab/orders", order1, 400, "bad_request", "sku: want letters"},
		{"POST", "/unlocked/items//orders", order1, 400, "bad_request", "sku: want 1 to 64"},
		{"GET", "/items/a%20b", ``, 400, "bad_request", "sku: want letters"},
		{"PUT", tea, ``, 400, "bad_request", "empty"},
		{"PUT", tea, `{}`, 400, "bad_request", "stock: is missing"},
		{"PUT", tea, `{"stock":null}`, 400, "bad_request", "stock: is missing"},
		{"PUT", tea, `{"stock":-1}`, 400, "bad_request", "stock: want 0"},
		{"PUT", tea, `{"stock":1000001}`, 400, "bad_request", "stock: want 0"},
		{"PUT", tea, `{"stock":"10"}`, 400, "bad_request", "stock cannot be string"},
		{"PUT", tea, `{"stock":10,"sold":0}`, 400, "bad_request", `unknown field "sold"`},
		{"PUT", "/items/a%20b", `{"stock":1}`, 400, "bad_request", "sku: want letters"},

		{"POST", "/items/coffee/orders", order1, 404, "unknown_sku", ""},
		{"POST", "/unlocked/items/coffee/orders", order1, 404, "unknown_sku", ""},
		{"POST", "/items/TEA/orders", order1, 404, "unknown_sku", ""},
		{"GET", "/items/coffee", ``, 404, "unknown_sku", ""},
		{"GET", "/items/", ``, 404, "about:blank", ""},
		{"GET", "/none", ``, 404, "about:blank", ""},
		{"GET", "/assets/", ``, 404, "about:blank", ""},
		{"GET", "/assets/none", ``, 404, "about:blank", ""},
		{"GET", "/assets/..%2fhttp.go", ``, 404, "about:blank", ""},
		{"POST", "/demo/none", ``, 404, "about:blank", ""},
		{"POST", orders + "/1", order1, 404, "about:blank", ""},
		{"POST", orders, `{"buyer":"u1","quantity":11}`, 409, "sold_out", ""},

		{"GET", orders, ``, 405, "about:blank", ""},
		{"GET", "/demo/locked", ``, 405, "about:blank", ""},
		{"POST", "/", ``, 405, "about:blank", ""},
		{"POST", "/live", ``, 405, "about:blank", ""},
		{"DELETE", tea, ``, 405, "about:blank", ""},
		{"POST", tea, `{"stock":1}`, 405, "about:blank", ""},
		{"POST", "/healthz", ``, 405, "about:blank", ""},
		{"BREW", "/healthz", ``, 405, "about:blank", ""},
	} {
		t.Run(fmt.Sprintf("%s %.40s %.40s", r.method, r.path, r.body), func(t *testing.T) {
			before := redis.lastToken(t)
			a := c.must(t, r.status, r.method, r.path, r.body)
			if r.status != http.StatusNotFound && r.status != http.StatusConflict && redis.lastToken(t) != before {
				t.Error("the bad request took a lock")
			}
			if p := a.problem(t); p.Type != r.problem || !strings.Contains(p.Detail, r.detail) {
				t.Errorf("%s, want %s with %q", a.body, r.problem, r.detail)
			}
			if got := a.header.Get("Allow"); (got == "") != (r.status != 405) {
				t.Errorf("%d with Allow: %q", a.status, got)
			}
		})
	}
	if it := c.item(t, "tea"); it != (item{"tea", 10, 0}) {
		t.Errorf("%+v", it)
	}
	if got := c.must(t, 405, "POST", tea, "").header.Get("Allow"); got != "GET, PUT" {
		t.Errorf("Allow: %q", got)
	}
}

func TestHealth(t *testing.T) {
	c := newClient(t, startService(t).addresses)
	if a := c.must(t, http.StatusOK, "GET", "/healthz", ""); string(a.body) != "{\"status\":\"ok\"}\n" {
		t.Errorf("%s", a.body)
	}
	for _, service := range []string{"", shopv1.ShopService_ServiceDesc.ServiceName} {
		h, err := grpc_health_v1.NewHealthClient(c.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
		if err != nil || h.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v, %v", service, h, err)
		}
	}
}

func TestReflection(t *testing.T) {
	c := newClient(t, startService(t).addresses)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := reflectionpb.NewServerReflectionClient(c.conn).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ask := &reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{},
	}
	if err := stream.Send(ask); err != nil {
		t.Fatal(err)
	}
	res, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range res.GetListServicesResponse().GetService() {
		if s.GetName() == shopv1.ShopService_ServiceDesc.ServiceName {
			return
		}
	}
	t.Errorf("%v does not tell of the shop", res)
}

func TestBadGRPCRequests(t *testing.T) {
	redis := newStore(t)
	c := newClient(t, startService(t, "-backend", redis.url).addresses)
	c.set(t, "tea", 10)
	type orderOf = shopv1.PlaceOrderRequest
	for _, r := range []struct {
		req  *orderOf
		code codes.Code
		text string
	}{
		{&orderOf{}, codes.InvalidArgument, "sku"},
		{&orderOf{Buyer: "u1", Quantity: 1}, codes.InvalidArgument, "sku: want 1"},
		{&orderOf{Sku: "a b", Buyer: "u1", Quantity: 1}, codes.InvalidArgument, "sku: want letters"},
		{&orderOf{Sku: strings.Repeat("a", 65), Buyer: "u1", Quantity: 1}, codes.InvalidArgument, "got 65"},
		{&orderOf{Sku: "tea", Quantity: 1}, codes.InvalidArgument, "buyer: want 1"},
		{&orderOf{Sku: "tea", Buyer: "\n", Quantity: 1}, codes.InvalidArgument, "buyer: want printable"},
		{&orderOf{Sku: "tea", Buyer: "u1"}, codes.InvalidArgument, "quantity: want 1"},
		{&orderOf{Sku: "tea", Buyer: "u1", Quantity: -1}, codes.InvalidArgument, "quantity: want 1"},
		{&orderOf{Sku: "tea", Buyer: strings.Repeat("a", maxBody), Quantity: 1}, codes.ResourceExhausted, "larger than max"},
		{&orderOf{Sku: "coffee", Buyer: "u1", Quantity: 1}, codes.NotFound, "no such item"},
		{&orderOf{Sku: "tea", Buyer: "u1", Quantity: 11}, codes.FailedPrecondition, "Fewer are left"},
	} {
		before := redis.lastToken(t)
		_, err := c.grpc.PlaceOrder(t.Context(), r.req)
		checkStatus(t, err, r.code, r.text)
		if r.code != codes.NotFound && r.code != codes.FailedPrecondition && redis.lastToken(t) != before {
			t.Errorf("the bad request %v took a lock", r.req)
		}
		_, err = c.grpc.PlaceOrderUnlocked(t.Context(), r.req)
		checkStatus(t, err, r.code, r.text)
	}
	_, err := c.grpc.GetItem(t.Context(), &shopv1.GetItemRequest{})
	checkStatus(t, err, codes.InvalidArgument, "sku")
	_, err = c.grpc.GetItem(t.Context(), &shopv1.GetItemRequest{Sku: "coffee"})
	checkStatus(t, err, codes.NotFound, "no such item")
	_, err = c.grpc.SetItem(t.Context(), &shopv1.SetItemRequest{Sku: "a/b", Stock: 1})
	checkStatus(t, err, codes.InvalidArgument, "sku")
	_, err = c.grpc.SetItem(t.Context(), &shopv1.SetItemRequest{Sku: "tea", Stock: -1})
	checkStatus(t, err, codes.InvalidArgument, "stock")

	it, err := c.grpc.GetItem(t.Context(), &shopv1.GetItemRequest{Sku: "tea"})
	if err != nil || it.GetSku() != "tea" || it.GetStock() != 10 || it.GetSold() != 0 {
		t.Error(it, err)
	}
}

func checkStatus(t *testing.T, err error, code codes.Code, text string) {
	t.Helper()
	if st := status.Convert(err); st.Code() != code || !strings.Contains(st.Message(), text) {
		t.Errorf("%v, want %v with %q", err, code, text)
	}
}

// TestDeadline checks that the caller's deadline ends the wait.
func TestDeadline(t *testing.T) {
	redis := newStore(t)
	c := newClient(t, startService(t, "-backend", redis.url).addresses)
	c.set(t, "tea", 1)
	defer redis.hold(t, "tea")()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := c.grpc.PlaceOrder(ctx, &shopv1.PlaceOrderRequest{Sku: "tea", Buyer: "u1", Quantity: 1})
	if status.Code(err) != codes.DeadlineExceeded {
		t.Error(err)
	}
}

// TestSlowBody has a client that sends half of its order. It must not delay other
// orders, and the service stops waiting for it.
func TestSlowBody(t *testing.T) {
	t.Parallel() // most of its time is waiting
	c := newClient(t, startConfig(t, config{
		backend: "embedded", wait: 10 * time.Second, grace: 10 * time.Second, bodyTimeout: 3 * time.Second, // for complete orders, too
	}).addresses)
	c.set(t, "tea", 10)
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	half := order1[:10]
	_, err = fmt.Fprintf(conn, "POST /items/tea/orders HTTP/1.1\r\nHost: shop\r\nContent-Length: %d\r\n\r\n%s", len(order1), half)
	if err != nil {
		t.Fatal(err)
	}
	if r := c.orderHTTP(t.Context(), "", "tea"); r.err != nil {
		t.Error(r.err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	reply, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(reply), "HTTP/1.1 408 ") || !strings.Contains(string(reply), "slow_body") {
		t.Errorf("%s, %v", reply, err)
	}
	if it := c.item(t, "tea"); it.Sold != 1 {
		t.Errorf("%+v", it)
	}
}
