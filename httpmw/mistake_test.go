package httpmw_test

import (
	"bytes"
	"context"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// middleware is a lock as a router uses it.
type middleware = func(http.Handler) http.Handler

// serveMux and chiWith have the lock where it belongs.
func serveMux(pattern string) func(middleware, http.Handler) http.Handler {
	return func(lock middleware, h http.Handler) http.Handler {
		mux := http.NewServeMux()
		mux.Handle(pattern, lock(h))
		return mux
	}
}

func chiWith(pattern string) func(middleware, http.Handler) http.Handler {
	return func(lock middleware, h http.Handler) http.Handler {
		r := chi.NewRouter()
		r.With(lock).Handle(pattern, h)
		return r
	}
}

// logged starts a server, sends three requests, and returns the first answer and
// what the server has logged.
func logged(t *testing.T, h http.Handler, path string) (answer, string) {
	t.Helper()
	var out bytes.Buffer // the logger has a mutex
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(&out, "", 0)
	srv.Start()
	defer srv.Close()
	first := send(t, srv, "GET", path, "")
	for range 2 {
		if again := send(t, srv, "GET", path, ""); again.status != first.status || again.body != first.body {
			t.Errorf("first %d %s then %d %s", first.status, first.body, again.status, again.body)
		}
	}
	srv.Close() // there are no more writes to out
	return first, out.String()
}

func TestWrongWiringIsTheServersFault(t *testing.T) {
	for _, c := range []struct {
		explanation string
		route       func(middleware, http.Handler) http.Handler
		key         httpmw.KeyFunc
		path, log   string
	}{
		{
			"ServeMux, misspelt", serveMux("GET /orders/{order}"), httpmw.PathValue("ordr"), "/orders/7",
			`httpmw: the pattern "GET /orders/{order}" has no path value "ordr"`,
		},
		{
			"ServeMux, the lock around it", func(lock middleware, h http.Handler) http.Handler {
				return lock(serveMux("/orders/{order}")(func(h http.Handler) http.Handler { return h }, h))
			}, httpmw.PathValue("order"), "/orders/7",
			`httpmw: no route has been found when the lock needs path value "order": the lock belongs to the route, not around the router`,
		},
		{
			"chi, Use", func(lock middleware, h http.Handler) http.Handler {
				r := chi.NewRouter()
				r.Use(lock)
				r.Get("/orders/{order}", h.ServeHTTP)
				return r
			}, httpmw.Int(httpmw.PathValue("order")), "/orders/7",
			`httpmw: no route has been found when the lock needs path value "order": the lock belongs to the route, not around the router`,
		},
		{
			"chi, Use in a nested router", func(lock middleware, h http.Handler) http.Handler {
				r := chi.NewRouter()
				r.Route("/orders", func(r chi.Router) {
					r.Use(lock)
					r.Get("/{order}", h.ServeHTTP)
				})
				return r
			}, httpmw.Params(httpmw.PathValue("order")), "/orders/7",
			`httpmw: the pattern "/orders/*" has no path value "order"`,
		},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			s := testkit.NewStore()
			lock := httpmw.Lock(testkit.NewLocker(t, s, distlock.Config{}), c.key, opts())
			got, lines := logged(t, c.route(lock, never(t)), c.path)
			wantProblem(t, got, internal, "")
			if lines != c.log+"\n" {
				t.Errorf("the log has\n%swant once\n%s", lines, c.log)
			}
			if keys := s.Attempts(); len(keys) != 0 {
				t.Errorf("keys %q", keys)
			}
		})
	}
}

// TestWorkThatGoesOnAfterTheHandler: the operator is told once of work that has no lock any more,
// and not of a goroutine that says so itself, or of one that ends in time.
func TestWorkThatGoesOnAfterTheHandler(t *testing.T) {
	const told = "httpmw: pattern \"GET /orders/{id}\": work goes on after the handler has returned and the lock has ended; " +
		"a timeout belongs around the lock, and a goroutine that is left needs distlock.Detach and a lock of its own\n"
	for name, c := range map[string]struct {
		work func(http.ResponseWriter, *http.Request)
		want string
	}{
		"asks for its lease": {func(_ http.ResponseWriter, r *http.Request) {
			if lease, ok := distlock.FromContext(r.Context()); !ok || lease.Check() == nil {
				t.Error("the lease is not over")
			}
		}, told},
		"asks below a timeout of its own": {func(_ http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), time.Hour)
			defer cancel()
			distlock.Held(ctx, keyOf(t, "7"))
		}, told},
		"a framework answers": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, ""},
		"writes":              {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("paid")) }, told},
		"writes a status":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }, told},
		"asks for a deadline": {func(_ http.ResponseWriter, r *http.Request) { r.Context().Deadline() }, ""},
		"is detached":         {func(_ http.ResponseWriter, r *http.Request) { distlock.FromContext(distlock.Detach(r.Context())) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			lock := httpmw.Lock(testkit.NewLocker(t, testkit.NewStore(), distlock.Config{}), constant("7"), opts())
			outer := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				var in *http.Request
				var out http.ResponseWriter
				ctx, end := context.WithCancel(r.Context())
				defer end()
				serveMux("GET /orders/{id}")(lock, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if lease, ok := distlock.FromContext(r.Context()); !ok || lease.Check() != nil {
						t.Error("no lease in the handler")
					}
					in, out = r, w
				})).ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
				if name != "a framework answers" {
					end()
				}
				c.work(out, in)
			})
			if _, lines := logged(t, outer, "/orders/7"); lines != c.want {
				t.Errorf("the log has %q, want %q", lines, c.want)
			}
		})
	}
}

// TestWhatTheClientLeavesOutIsItsOwnFault checks that nothing is logged for it.
func TestWhatTheClientLeavesOutIsItsOwnFault(t *testing.T) {
	for _, c := range []struct {
		explanation string
		route       func(middleware, http.Handler) http.Handler
		key         httpmw.KeyFunc
		detail      string
	}{
		{"ServeMux, the rest of a path", serveMux("/files/{path...}"), httpmw.PathValue("path"), `path value "path" is missing or empty`},
		{"chi, the rest of a path", chiWith("/files/*"), httpmw.PathValue("*"), `path value "*" is missing or empty`},
		{"a header", serveMux("/files/"), httpmw.Header("X-SKU"), `header "X-SKU" is missing or empty`},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			lock := httpmw.Lock(testkit.NewLocker(t, testkit.NewStore(), distlock.Config{}), c.key, opts())
			got, lines := logged(t, c.route(lock, never(t)), "/files/")
			wantProblem(t, got, badKey(c.detail), "")
			if lines != "" {
				t.Errorf("the log has %s", lines)
			}
		})
	}
}

func TestMistakesArePanicsWhenItIsWired(t *testing.T) {
	l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
	key := httpmw.PathValue("id")
	params := opts()
	params.Params = distlock.By(func(r *http.Request) any { return r.URL })
	whole := opts()
	whole.ParamLock = true
	cases := []struct {
		explanation, want string
		wire              func()
	}{
		{"no Locker", "httpmw: Lock: nil Locker", func() { httpmw.Lock(nil, key, opts()) }},
		{"no KeyFunc", "httpmw: Lock: nil KeyFunc", func() { httpmw.Lock(l, nil, opts()) }},
		{"Params", "httpmw: Lock: Opts.Params or Opts.ParamLock is set, but the KeyFunc selects the parameters", func() { httpmw.Lock(l, key, params) }},
		{"ParamLock", "httpmw: Lock: Opts.Params or Opts.ParamLock is set, but the KeyFunc selects the parameters", func() { httpmw.Lock(l, key, whole) }},
		{"no Value", "httpmw: Lock: distlock: options: Value is empty", func() { httpmw.Lock(l, key, distlock.Opts{}) }},
		{"a bad Opts", "httpmw: Lock: distlock: options: KeyTimeout is negative: -1s", func() {
			httpmw.Lock(l, key, distlock.Opts{Value: "v", KeyTimeout: -time.Second})
		}},
		{"no Handler", "httpmw: Lock: nil Handler", func() { httpmw.Lock(l, key, opts())(nil) }},
		{"a timeout inside", "httpmw: Lock: http.TimeoutHandler returns before its handler, and the lock ends: write http.TimeoutHandler(lock(handler), ...)", func() {
			httpmw.Lock(l, key, opts())(http.TimeoutHandler(http.NotFoundHandler(), time.Second, ""))
		}},
		{"Fiber around", "httpmw: Lock: HTTPMiddleware of Fiber runs the handler after the lock has ended: call locker.Do in the handler", func() {
			httpmw.Lock(l, key, opts())(fiber)
		}},
		{"no ErrorHandler", "httpmw: WithErrorHandler: nil ErrorHandler", func() { httpmw.WithErrorHandler(nil) }},
		{"no body", "httpmw: WithBodyFirst: the limit is not positive: -1", func() { httpmw.WithBodyFirst(-1) }},
		{"no JSON body", "httpmw: JSONField: the limit is not positive: -1", func() { httpmw.JSONField("id", -1) }},
		{"no path value", "httpmw: PathValue: empty name", func() { httpmw.PathValue("") }},
		{"no header", "httpmw: Header: empty name", func() { httpmw.Header("") }},
		{"a header that is none", "httpmw: Header: net/http keeps Host in Request.Host", func() { httpmw.Header("host") }},
		{"no parameter", "httpmw: Query: empty name", func() { httpmw.Query("") }},
		{"no field", `httpmw: JSONField: empty name in the path ""`, func() { httpmw.JSONField("", 0) }},
		{"half a path", `httpmw: JSONField: empty name in the path "order."`, func() { httpmw.JSONField("order.", 0) }},
		{"no integer", "httpmw: Int: nil KeyFunc", func() { httpmw.Int(nil) }},
		{"no parts", "httpmw: Params: no KeyFunc", func() { httpmw.Params() }},
		{"a nil part", "httpmw: Params: KeyFunc 1 is nil", func() { httpmw.Params(key, nil) }},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			defer func() {
				if got := recover(); got != c.want {
					t.Errorf("panic %v, want %q", got, c.want)
				}
			}()
			c.wire()
		})
	}
}

// fiber is as Fiber's handler, by the file that it comes from.
var fiber http.HandlerFunc = /*line fiber/v3/middleware/adaptor/adaptor.go:1*/ func(http.ResponseWriter, *http.Request) {}
