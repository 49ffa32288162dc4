package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock/example_service/shopv1"
	"github.com/distlock-go/distlock/httpmw"
)

// client talks to one service over HTTP and gRPC.
type client struct {
	base string
	http *http.Client
	grpc shopv1.ShopServiceClient
	conn *grpc.ClientConn
}

func newClient(t *testing.T, a addresses) *client {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+a.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxConnsPerHost: 64, MaxIdleConnsPerHost: 64}
	t.Cleanup(func() {
		_ = conn.Close()
		transport.CloseIdleConnections()
	})
	return &client{
		base: "http://" + a.http,
		http: &http.Client{Transport: transport, Timeout: time.Minute},
		grpc: shopv1.NewShopServiceClient(conn),
		conn: conn,
	}
}

// answer is an HTTP response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// problem parses the problem in the answer.
func (a answer) problem(t *testing.T) httpmw.Problem {
	t.Helper()
	var p httpmw.Problem
	if ct := a.header.Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("%d is %s: %s", a.status, ct, a.body)
	}
	if err := json.Unmarshal(a.body, &p); err != nil || p.Status != a.status || p.Type == "" || p.Title == "" {
		t.Errorf("%d is not a whole problem: %s, %v", a.status, a.body, err)
	}
	return p
}

func (c *client) do(ctx context.Context, method, path, body string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, b}, err
}

// must is do with an expected status.
func (c *client) must(t *testing.T, want int, method, path, body string) answer {
	t.Helper()
	a, err := c.do(t.Context(), method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	if a.status != want {
		t.Fatalf("%s %s: %d %s, want %d", method, path, a.status, a.body, want)
	}
	return a
}

// set starts a sale.
func (c *client) set(t *testing.T, sku string, stock int) {
	t.Helper()
	if _, err := c.grpc.SetItem(t.Context(), &shopv1.SetItemRequest{Sku: sku, Stock: int32(stock)}); err != nil {
		t.Fatal(err)
	}
}

// item returns the state of a sale, over HTTP.
func (c *client) item(t *testing.T, sku string) item {
	t.Helper()
	var it struct {
		SKU         string
		Stock, Sold int
	}
	if err := json.Unmarshal(c.must(t, http.StatusOK, "GET", "/items/"+sku, "").body, &it); err != nil {
		t.Fatal(err)
	}
	return item{it.SKU, it.Stock, it.Sold}
}

// stream opens a stream of server-sent events.
func (c *client) stream(t *testing.T, path string) io.Reader {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", c.base+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if ct := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || ct != "text/event-stream" {
		t.Fatalf("GET %s: %d %s", path, res.StatusCode, ct)
	}
	return res.Body
}

// watch reads states from the stream of the page until f is true for one.
func watch(t *testing.T, stream io.Reader, f func(state) bool) state {
	t.Helper()
	events := bufio.NewScanner(stream)
	events.Split(splitEvents)
	for events.Scan() {
		if s, ok := decodeEvent(t, events.Bytes()); ok && f(s) {
			return s
		}
	}
	t.Fatalf("the stream ended: %v", events.Err())
	return state{}
}

// splitEvents is a [bufio.SplitFunc] for server-sent events.
func splitEvents(data []byte, _ bool) (advance int, token []byte, err error) {
	if i := bytes.Index(data, []byte("\n\n")); i >= 0 {
		return i + 2, data[:i+2], nil
	}
	return 0, nil, nil
}

// result is the result of an order.
type result struct {
	order
	err error // errSoldOut, or an unexpected error
}

// failure is an answer other than sold or sold out.
type failure struct{ text string }

func (f *failure) Error() string { return f.text }

// orderHTTP orders one piece, and retries when the item is busy.
func (c *client) orderHTTP(ctx context.Context, prefix, sku string) result {
	for {
		a, err := c.do(ctx, "POST", prefix+"/items/"+sku+"/orders", `{"buyer":"u1","quantity":1}`)
		switch {
		case err != nil:
			return result{err: err}
		case a.status == http.StatusConflict && bytes.Contains(a.body, []byte(httpmw.TypeBusy)):
			if a.header.Get("Retry-After") == "" {
				return result{err: &failure{"busy without Retry-After"}}
			}
			continue
		case a.status == http.StatusConflict && bytes.Contains(a.body, []byte(`"type":"sold_out"`)):
			return result{err: errSoldOut}
		case a.status != http.StatusCreated:
			return result{err: &failure{http.StatusText(a.status) + ": " + string(a.body)}}
		}
		var o struct {
			OrderID   int64 `json:"order_id"`
			SKU       string
			Remaining int
			Token     uint64
		}
		dec := json.NewDecoder(bytes.NewReader(a.body))
		dec.DisallowUnknownFields()
		err = dec.Decode(&o)
		return result{order{o.OrderID, o.SKU, o.Remaining, o.Token}, err}
	}
}

// orderGRPC is orderHTTP over gRPC.
func (c *client) orderGRPC(ctx context.Context, locked bool, sku string) result {
	place := c.grpc.PlaceOrder
	if !locked {
		place = c.grpc.PlaceOrderUnlocked
	}
	for {
		o, err := place(ctx, &shopv1.PlaceOrderRequest{Sku: sku, Buyer: "u1", Quantity: 1})
		switch status.Code(err) {
		case codes.OK:
			return result{order: order{o.GetOrderId(), o.GetSku(), int(o.GetRemaining()), o.GetToken()}}
		case codes.Aborted:
			continue
		case codes.FailedPrecondition:
			return result{err: errSoldOut}
		default:
			return result{err: err}
		}
	}
}
