package httpmw_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/go-chi/chi/v5"
)

// post sends a request to h and shows the answer.
func post(h http.Handler, path, body string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
	fmt.Println(w.Code, strings.TrimSpace(w.Body.String()))
}

// shop is what the handler of the README works with.
type shop struct {
	priceOf func(ctx context.Context, order string) (int, error)
	book    func(order string, price int)
}

// routes is the recipe of the README.
func (s *shop) routes(lock func(http.Handler) http.Handler) http.Handler {
	r := chi.NewRouter()
	r.With(lock).Post("/orders/{id}/pay", func(w http.ResponseWriter, r *http.Request) {
		order := r.PathValue("id")
		price, err := s.priceOf(r.Context(), order) // the context is cancelled if the lock is lost
		if lease, _ := distlock.FromContext(r.Context()); err == nil {
			err = lease.Check() // before the write
		}
		if err != nil {
			httpmw.WriteError(w, r, err) // 424 if the lock was lost
			return
		}
		s.book(order, price)
		fmt.Fprintln(w, "paid", order)
	})
	return r
}

// Example_chi locks one route by a part of its path.
func Example_chi() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	s := &shop{
		priceOf: func(context.Context, string) (int, error) { return 7, nil },
		book:    func(order string, price int) { fmt.Println("order", order, "costs", price) },
	}

	lock := httpmw.Lock(locker, httpmw.Int(httpmw.PathValue("id")), distlock.Opts{
		Prefix: "shop:", Value: "pay",
		MaxWait: 3 * time.Second, // do not let clients wait forever
	})
	r := s.routes(lock)

	post(r, "/orders/42/pay", "")
	post(r, "/orders/x/pay", "")
	// Output:
	// order 42 costs 7
	// 200 paid 42
	// 400 {"type":"https://pkg.go.dev/github.com/distlock-go/distlock/httpmw#TypeBadKey","title":"Invalid request","status":400,"detail":"the parameter is not an integer"}
}

// Example_serveMux locks one route of the standard library's router.
func Example_serveMux() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	lock := httpmw.Lock(locker, httpmw.PathValue("sku"), distlock.Opts{Prefix: "shop:", Value: "stock", RetryCount: 3})
	mux := http.NewServeMux()
	mux.Handle("POST /items/{sku}/orders", lock(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lease, _ := distlock.FromContext(r.Context())
		fmt.Fprintln(w, "ordered", r.PathValue("sku"), "with a lock:", lease.Check() == nil)
	})))

	post(mux, "/items/u1/orders", "")
	// Output: 200 ordered u1 with a lock: true
}

// ExampleJSONField locks by a field of the body. The handler can still read the body.
func ExampleJSONField() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	key := httpmw.Params(httpmw.JSONField("shop", 0), httpmw.JSONField("order.id", 0))
	h := httpmw.Lock(locker, key, distlock.Opts{Value: "refund", RetryCount: 3})(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(w, r.Body)
		}))

	post(h, "/refunds", `{"shop": "north", "order": {"id": 42}}`)
	post(h, "/refunds", `{"shop": "north", "order": {"id": 42, "ID": 43}}`)
	// Output:
	// 200 {"shop": "north", "order": {"id": 42}}
	// 400 {"type":"https://pkg.go.dev/github.com/distlock-go/distlock/httpmw#TypeBadKey","title":"Invalid request","status":400,"detail":"body field \"order.id\" appears in another spelling"}
}

// ExampleWithErrorHandler answers some errors in a form of its own, and leaves the rest to
// the default.
func ExampleWithErrorHandler() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	own := httpmw.WithErrorHandler(func(w http.ResponseWriter, r *http.Request, err error) {
		if errors.Is(err, distlock.ErrKey) {
			http.Error(w, "which order?", http.StatusNotFound)
			return
		}
		httpmw.WriteError(w, r, err)
	})
	h := httpmw.Lock(locker, httpmw.Query("order"), distlock.Opts{Value: "pay"}, own)(http.NotFoundHandler())

	post(h, "/pay", "")
	// Output: 404 which order?
}

// ExampleKeyFunc takes the tenant from the authentication and does not lock requests that
// only read.
func ExampleKeyFunc() {
	type user struct{ Tenant string }
	authenticated := func(*http.Request) (user, bool) { return user{Tenant: "north"}, true }

	tenant := func(r *http.Request) (any, error) {
		if r.Method == http.MethodGet {
			return distlock.Skip, nil
		}
		u, ok := authenticated(r)
		if !ok {
			return nil, &distlock.KeyError{Detail: "no user"}
		}
		return u.Tenant, nil
	}
	key := httpmw.Params(tenant, httpmw.Int(httpmw.PathValue("id")))

	r := httptest.NewRequest("POST", "/", nil)
	r.SetPathValue("id", "042")
	fmt.Println(key(r))
	// Output: [north 42] <nil>
}
