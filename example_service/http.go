package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/distlock-go/distlock"
)

// httpAPI is the shop over HTTP.
type httpAPI struct {
	shop        *shop
	page        *page
	monitor     *monitor
	metrics     http.Handler
	bodyTimeout time.Duration
	log         *slog.Logger
}

// handler returns the routes of the shop. It fails if the table of routes is invalid.
func (a *httpAPI) handler(l *distlock.Locker, lock distlock.Opts) (http.Handler, error) {
	r := chi.NewRouter()
	r.NotFound(func(w http.ResponseWriter, r *http.Request) { notFound.ServeHTTP(w, r) })
	r.MethodNotAllowed(methodNotAllowed(r))
	return r, mount(r, a.routes(), l, lock)
}

// routes is the table of routes and their locks. POST takes its lock in a middleware;
// PUT leaves that to the shop.
func (a *httpAPI) routes() []route {
	return []route{
		{method: "GET", pattern: "/", before: pageHeaders, lock: unlocked, handle: a.page.getIndex},
		{method: "GET", pattern: "/assets/{file}", before: pageHeaders, lock: unlocked, handle: a.page.getAsset},
		{method: "GET", pattern: "/live", before: pageHeaders, lock: unlocked, handle: a.page.getLive},
		{method: "POST", pattern: "/demo/{name}", before: sameOrigin, lock: unlocked, handle: a.postDemo},
		{method: "GET", pattern: "/locks", lock: unlocked, handle: a.page.getLocks},
		{method: "GET", pattern: "/locks/", lock: unlocked, handle: a.page.getLocks},
		{method: "GET", pattern: "/locks/{page}", lock: unlocked, handle: a.page.getLocks},
		{method: "GET", pattern: "/healthz", lock: unlocked, handle: a.health},
		{method: "GET", pattern: "/metrics", lock: unlocked, handle: a.getMetrics},
		{method: "GET", pattern: "/items/{sku}", lock: unlocked, handle: a.getItem},
		{method: "PUT", pattern: "/items/{sku}", lock: unlocked, handle: a.putItem},
		// The request is read and checked before the lock is taken, so that neither a
		// slow client nor a bad request makes others wait.
		{method: "POST", pattern: "/items/{sku}/orders", before: a.readOrder, lock: "sku", handle: a.placeOrder},
		{method: "POST", pattern: "/unlocked/items/{sku}/orders", before: a.readOrder, lock: unlocked, handle: a.placeOrderUnlocked},
	}
}

// orderKey is the context key of the order that readOrder has read.
type orderKey struct{}

// readOrder is a middleware that reads the order from the request.
func (a *httpAPI) readOrder(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Buyer    string `json:"buyer"`
			Quantity int    `json:"quantity"`
		}
		if err := readBody(w, r, a.bodyTimeout, &body); err != nil {
			a.fail(w, r, err)
			return
		}
		req := orderRequest{SKU: r.PathValue("sku"), Buyer: body.Buyer, Quantity: body.Quantity}
		if err := req.validate(); err != nil {
			a.fail(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), orderKey{}, req)))
	})
}

// placeOrder runs under the lock that the middleware took.
func (a *httpAPI) placeOrder(w http.ResponseWriter, r *http.Request) { a.place(w, r, a.shop.place) }

// placeOrderUnlocked runs without a lock.
func (a *httpAPI) placeOrderUnlocked(w http.ResponseWriter, r *http.Request) {
	a.place(w, r, a.shop.placeUnlocked)
}

func (a *httpAPI) place(w http.ResponseWriter, r *http.Request, place distlock.Func[orderRequest, order]) {
	req, _ := r.Context().Value(orderKey{}).(orderRequest)
	o, err := place(r.Context(), req)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusCreated, struct {
		OrderID   int64  `json:"order_id"`
		SKU       string `json:"sku"`
		Remaining int    `json:"remaining"`
		Token     uint64 `json:"token"`
	}{o.ID, o.SKU, o.Remaining, o.Token})
}

func (a *httpAPI) getItem(w http.ResponseWriter, r *http.Request) {
	it, err := a.shop.item(r.Context(), r.PathValue("sku"))
	a.item(w, r, it, err)
}

func (a *httpAPI) putItem(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Stock *int `json:"stock"` // 0 is a stock; a missing stock is an error
	}
	err := readBody(w, r, a.bodyTimeout, &body)
	if err == nil && body.Stock == nil {
		err = badInput("stock: is missing")
	}
	var it item
	if err == nil {
		it, err = a.shop.reset(r.Context(), stockRequest{SKU: r.PathValue("sku"), Stock: *body.Stock})
	}
	a.item(w, r, it, err)
}

func (a *httpAPI) item(w http.ResponseWriter, r *http.Request, it item, err error) {
	if err != nil {
		a.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, struct {
		SKU   string `json:"sku"`
		Stock int    `json:"stock"`
		Sold  int    `json:"sold"`
	}{it.SKU, it.Stock, it.Sold})
}

// health answers load balancers. It does not wait.
func (a *httpAPI) health(w http.ResponseWriter, r *http.Request) {
	if err := a.monitor.health(); err != nil {
		a.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, struct {
		Status string `json:"status"`
	}{"ok"})
}

// getMetrics answers Prometheus.
func (a *httpAPI) getMetrics(w http.ResponseWriter, r *http.Request) { a.metrics.ServeHTTP(w, r) }

// methodNotAllowed returns a handler that lists the methods of r for the path.
func methodNotAllowed(r chi.Routes) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		var allowed []string
		for _, m := range methods {
			if r.Match(chi.NewRouteContext(), m, req.URL.EscapedPath()) {
				allowed = append(allowed, m)
			}
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		noMethod.ServeHTTP(w, req)
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // an error means that the client is gone
}
