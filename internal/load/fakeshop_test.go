package load

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/distlock-go/distlock/example_service/shopv1"
)

// fakeShop behaves like the example service, over gRPC and over HTTP.
type fakeShop struct {
	shopv1.UnimplementedShopServiceServer

	mu    sync.Mutex
	items map[string]*fakeItem
	conns atomic.Int64 // number of HTTP connections

	refuses bool // it refuses every order
	leaks   bool // the lock has no effect
	gone    bool // nobody can read an item
}

type fakeItem struct {
	lock  sync.Mutex
	stock atomic.Int64
	sold  atomic.Int64
}

func (s *fakeShop) item(sku string) *fakeItem {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items[sku] == nil {
		s.items[sku] = &fakeItem{}
	}
	return s.items[sku]
}

func (s *fakeShop) SetItem(_ context.Context, m *shopv1.SetItemRequest) (*shopv1.GetItemResponse, error) {
	i := s.item(m.GetSku())
	i.stock.Store(int64(m.GetStock()))
	i.sold.Store(0)
	return &shopv1.GetItemResponse{Sku: m.GetSku(), Stock: m.GetStock()}, nil
}

func (s *fakeShop) GetItem(_ context.Context, m *shopv1.GetItemRequest) (*shopv1.GetItemResponse, error) {
	if s.gone {
		return nil, status.Error(codes.Unavailable, "gone")
	}
	return &shopv1.GetItemResponse{Sku: m.GetSku(), Stock: int32(s.item(m.GetSku()).stock.Load())}, nil
}

func (s *fakeShop) PlaceOrder(ctx context.Context, m *shopv1.PlaceOrderRequest) (*shopv1.PlaceOrderResponse, error) {
	if i := s.item(m.GetSku()); !s.leaks {
		i.lock.Lock()
		defer i.lock.Unlock()
	}
	return s.PlaceOrderUnlocked(ctx, m)
}

func (s *fakeShop) PlaceOrderUnlocked(_ context.Context, m *shopv1.PlaceOrderRequest) (*shopv1.PlaceOrderResponse, error) {
	i := s.item(m.GetSku())
	n := i.stock.Load()
	if n < 1 || s.refuses || m.GetBuyer() == "" || m.GetQuantity() != 1 {
		return nil, status.Error(codes.FailedPrecondition, `nothing, "nil", left`)
	}
	<-time.After(time.Millisecond) // another reader meanwhile sells the same piece
	i.stock.Store(n - 1)
	i.sold.Add(1)
	return &shopv1.PlaceOrderResponse{OrderId: 1, Sku: m.GetSku(), Remaining: int32(n - 1), Token: 1}, nil
}

// handle returns the handler of a method, with the status of its success.
func handle[I any, O any](success int, method func(context.Context, *I) (*O, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body := make(map[string]any)
		_ = json.NewDecoder(r.Body).Decode(&body) // GET has none
		body["sku"] = r.PathValue("sku")
		text, _ := json.Marshal(body)
		in := new(I)
		_ = json.Unmarshal(text, in)
		out, err := method(r.Context(), in)
		if err != nil {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusConflict)
			_, _ = fmt.Fprintf(w, `{"type":"about:blank","title":"refused","detail":%q}`, status.Convert(err).Message())
			return
		}
		w.WriteHeader(success)
		text, _ = protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(any(out).(proto.Message))
		_, _ = w.Write(text)
	}
}

// serve serves a shop for a plan, and returns its target.
func (s *fakeShop) serve(t *testing.T, plan string) string {
	t.Helper()
	s.items = make(map[string]*fakeItem)
	if plan == "grpc" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := grpc.NewServer()
		shopv1.RegisterShopServiceServer(server, s)
		done := make(chan error, 1)
		go func() { done <- server.Serve(l) }()
		t.Cleanup(func() {
			server.Stop()
			<-done
		})
		return l.Addr().String()
	}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /items/{sku}", handle(http.StatusOK, s.SetItem))
	mux.HandleFunc("GET /items/{sku}", handle(http.StatusOK, s.GetItem))
	mux.HandleFunc("POST /items/{sku}/orders", handle(http.StatusCreated, s.PlaceOrder))
	mux.HandleFunc("POST /unlocked/items/{sku}/orders", handle(http.StatusCreated, s.PlaceOrderUnlocked))
	server := httptest.NewUnstartedServer(mux)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.conns.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}
