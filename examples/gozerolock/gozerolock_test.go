package gozerolock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/service"
	"github.com/zeromicro/go-zero/rest"
	"github.com/zeromicro/go-zero/rest/httpx"
	"github.com/zeromicro/go-zero/rest/pathvar"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/gozerolock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func init() { logx.Disable() }

var (
	byID = httpmw.Int(httpmw.PathValue("id"))
	pay  = distlock.Opts{Prefix: "shop:", Value: "pay", RetryCount: 1}
)

// newHandler returns what a server of go-zero does, with all of its middleware.
func newHandler(add func(*rest.Server)) http.Handler {
	server := rest.MustNewServer(rest.RestConf{
		ServiceConf: service.ServiceConf{Name: "shop", Mode: service.TestMode},
		MaxConns:    10, MaxBytes: 1 << 20, Timeout: time.Minute.Milliseconds(),
		Middlewares: rest.MiddlewaresConf{
			Trace: true, Log: true, Prometheus: true, MaxConns: true, Breaker: true, Shedding: true,
			Timeout: true, Recover: true, Metrics: true, MaxBytes: true, Gunzip: true,
		},
	})
	add(server)
	built, err := rest.NewServerless(server)
	if err != nil {
		panic(err)
	}
	return http.HandlerFunc(built.Serve)
}

// answer is what a client gets.
type answer struct {
	code       int
	retryAfter string
	body       string
}

// serve listens with a server and returns a function that posts to it.
func serve(t *testing.T, add func(*rest.Server)) func(path, body string) answer {
	t.Helper()
	server := httptest.NewServer(newHandler(add))
	t.Cleanup(server.Close)
	return func(path, body string) answer {
		resp, err := server.Client().Post(server.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return answer{}
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
		}
		return answer{resp.StatusCode, resp.Header.Get("Retry-After"), strings.TrimSpace(string(text))}
	}
}

// TestLock: while a request holds the lock of its order, another one for the same order is
// refused by go-zero and does not run, and one for another order runs.
func TestLock(t *testing.T) {
	t.Parallel()
	store := testkit.NewStore()
	l := testkit.NewLocker(t, store, distlock.Config{})
	inside := func() {}
	handler := func(w http.ResponseWriter, r *http.Request) {
		if lease, ok := distlock.FromContext(r.Context()); !ok || lease.Check() != nil {
			t.Error("the context of the request has no lease")
		}
		f := inside
		inside = func() {}
		f()
		httpx.OkJsonCtx(r.Context(), w, "paid "+pathvar.Vars(r)["id"])
	}
	post := serve(t, func(s *rest.Server) {
		s.AddRoutes(rest.WithMiddleware(gozerolock.Lock(l, byID, pay), rest.Route{Method: http.MethodPost, Path: "/orders/:id/pay", Handler: handler}))
		s.AddRoutes(rest.WithMiddleware(gozerolock.Lock(l, httpmw.JSONField("order", 100), pay), rest.Route{Method: http.MethodPost, Path: "/pay", Handler: handler}))
	})
	inside = func() {
		busy := answer{http.StatusConflict, "1", "rpc error: code = Aborted desc = busy with another call"}
		if got := post("/orders/042/pay", ""); got != busy {
			t.Errorf("the same order: %v, want %v", got, busy)
		}
		if got := post("/pay", `{"order": 42}`); got != busy {
			t.Errorf("the same order in a field: %v, want %v", got, busy)
		}
		if got, want := post("/orders/43/pay", ""), (answer{http.StatusOK, "", `"paid 43"`}); got != want {
			t.Errorf("another order: %v, want %v", got, want)
		}
	}
	if got, want := post("/orders/42/pay", ""), (answer{http.StatusOK, "", `"paid 42"`}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	inside = func() { t.Error("a handler ran without its lock") }
	if got := post("/orders/x/pay", ""); got.code != http.StatusBadRequest || !strings.HasSuffix(got.body, "the parameter is not an integer") {
		t.Errorf("an order that is not a number: %v", got)
	}
	store.Fail(distlock.ErrUnavailable, testkit.Try, testkit.Wait)
	defer store.Fail(nil)
	if got, want := post("/orders/42/pay", ""), (answer{http.StatusServiceUnavailable, "1", "rpc error: code = Unavailable desc = locks are temporarily unavailable"}); got != want {
		t.Errorf("without the store: %v, want %v", got, want)
	}
}

// TestTimeout: when go-zero's time for a request has passed, its answer is 503 without
// Retry-After, and the handler has its lock until it returns.
func TestTimeout(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	leave := make(chan bool)
	post := serve(t, func(s *rest.Server) {
		lock := gozerolock.Lock(l, byID, pay)
		s.AddRoutes(rest.WithMiddleware(lock, rest.Route{Method: http.MethodPost, Path: "/orders/:id/pay", Handler: func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			<-leave
		}}), rest.WithTimeout(50*time.Millisecond))
	})
	held := func() int {
		infos, err := admin.Inspect(t.Context(), l, "", 10)
		if err != nil {
			t.Error(err)
		}
		return len(infos)
	}
	if got := post("/orders/42/pay", ""); got.code != http.StatusServiceUnavailable || got.retryAfter != "" || held() != 1 {
		t.Errorf("%v, and %d locks", got, held())
	}
	close(leave)
	testkit.Eventually(t, "the lock is released", func() bool { return held() == 0 })
}

// TestLoss: the context of the request ends when the lock is lost, and the client gets no
// success after that. An error of the handler is its own, and a panic releases the lock.
func TestLoss(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		want   int
	}{
		"nothing":  {func(http.ResponseWriter, *http.Request) {}, http.StatusFailedDependency},
		"a status": {func(w http.ResponseWriter, _ *http.Request) { httpx.Ok(w) }, http.StatusFailedDependency},
		"a body":   {func(w http.ResponseWriter, r *http.Request) { httpx.OkJsonCtx(r.Context(), w, "paid") }, http.StatusFailedDependency},
		"an error": {func(w http.ResponseWriter, r *http.Request) {
			httpx.ErrorCtx(r.Context(), w, context.Cause(r.Context()))
		}, http.StatusBadRequest},
		"a panic": {func(http.ResponseWriter, *http.Request) { panic("in doubt") }, http.StatusInternalServerError},
	} {
		l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
		post := serve(t, func(s *rest.Server) {
			s.Use(gozerolock.Lock(l, byID, pay)) // for all routes
			s.AddRoute(rest.Route{Method: http.MethodPost, Path: "/orders/:id", Handler: func(w http.ResponseWriter, r *http.Request) {
				ctx := r.Context()
				lease, _ := distlock.FromContext(ctx)
				if _, err := admin.ForceRelease(ctx, l, lease.Key()); err != nil {
					t.Error(err)
				}
				_ = lease.Refresh(ctx) // it notices
				<-ctx.Done()
				if err := context.Cause(ctx); !errors.Is(err, distlock.ErrLost) {
					t.Errorf("%s: the context ended with %v", name, err)
				}
				test.answer(w, r)
			}})
		})
		got := post("/orders/42", "")
		if lost := got.code == http.StatusFailedDependency; got.code != test.want || strings.Contains(got.body, "TypeLost") != lost || strings.Contains(got.body, "paid") {
			t.Errorf("%s: %v, want %d", name, got, test.want)
		}
		if infos, err := admin.Inspect(t.Context(), l, "", 10); err != nil || len(infos) != 0 {
			t.Errorf("%s: after the request: %v, %v", name, infos, err)
		}
	}
}

// Example locks a route of go-zero by its path variable.
func Example() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	lock := gozerolock.Lock(locker, httpmw.Int(httpmw.PathValue("id")), distlock.Opts{Prefix: "shop:", Value: "pay", RetryCount: 1})
	handler := newHandler(func(server *rest.Server) {
		server.AddRoutes(rest.WithMiddleware(lock, rest.Route{
			Method: http.MethodPost, Path: "/orders/:id/pay",
			Handler: func(w http.ResponseWriter, r *http.Request) {
				lease, _ := distlock.FromContext(r.Context())
				httpx.OkJsonCtx(r.Context(), w, fmt.Sprint("paid with a lock: ", lease.Check() == nil))
			},
		}))
	})
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/orders/42/pay", http.NoBody))
	fmt.Println(w.Code, w.Body)
	// Output: 200 "paid with a lock: true"
}
