package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
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
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func init() { logx.Disable() }

// goZeroLock makes a middleware of net/http one for routes of go-zero.
func goZeroLock(lock func(http.Handler) http.Handler) rest.Middleware {
	return func(next http.HandlerFunc) http.HandlerFunc {
		locked := lock(next)
		return func(w http.ResponseWriter, r *http.Request) {
			for name, value := range pathvar.Vars(r) {
				r.SetPathValue(name, value)
			}
			locked.ServeHTTP(w, r)
		}
	}
}

// goZero is what a handler of go-zero gets.
type goZero struct {
	w http.ResponseWriter
	r *http.Request
}

func (c goZero) answer(body string) error { httpx.OkJsonCtx(c.r.Context(), c.w, body); return nil }

func TestGoZero(t *testing.T) {
	answers := problems
	answers.empty.code = http.StatusNotFound
	framework[goZero]{
		start:   startGoZero(time.Minute),
		context: func(c goZero) context.Context { return c.r.Context() },
		paid:    func(c goZero) error { return c.answer("paid " + pathvar.Vars(c.r)["id"]) },
		answers: answers,
		after: map[string]reply[goZero]{
			"nothing":  {func(goZero) error { return nil }, http.StatusFailedDependency},
			"a status": {func(c goZero) error { httpx.Ok(c.w); return nil }, http.StatusFailedDependency},
			"a body":   {func(c goZero) error { return c.answer("paid") }, http.StatusFailedDependency},
			"an error": {func(c goZero) error { return context.Cause(c.r.Context()) }, http.StatusBadRequest},
		},
	}.test(t)
}

// startGoZero starts a server with all of go-zero's middleware.
func startGoZero(timeout time.Duration) func(*testing.T, *distlock.Locker, distlock.Opts, func(goZero) error) call {
	return func(t *testing.T, l *distlock.Locker, o distlock.Opts, handler func(goZero) error) call {
		t.Helper()
		server := rest.MustNewServer(rest.RestConf{
			ServiceConf: service.ServiceConf{Name: "shop", Mode: service.TestMode},
			MaxConns:    10, MaxBytes: 1 << 20, Timeout: timeout.Milliseconds(),
			Middlewares: rest.MiddlewaresConf{
				Trace: true, Log: true, Prometheus: true, MaxConns: true, Breaker: true, Shedding: true,
				Timeout: true, Recover: true, Metrics: true, MaxBytes: true, Gunzip: true,
			},
		})
		server.AddRoutes(rest.WithMiddleware(goZeroLock(httpmw.Lock(l, byID, o)), rest.Route{
			Method: http.MethodPost, Path: "/orders/:id/pay",
			Handler: func(w http.ResponseWriter, r *http.Request) {
				if err := handler(goZero{w, r}); err != nil {
					httpx.ErrorCtx(r.Context(), w, err)
				}
			},
		}))
		built, err := rest.NewServerless(server)
		if err != nil {
			t.Fatal(err)
		}
		listening := httptest.NewServer(http.HandlerFunc(built.Serve))
		t.Cleanup(listening.Close)
		return post(listening.URL)
	}
}

// TestGoZeroTimeout: when go-zero's time for a request has passed, its answer is 503
// without Retry-After, and the handler has its lock until it returns.
func TestGoZeroTimeout(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	leave := make(chan bool)
	call := startGoZero(50*time.Millisecond)(t, l, pay, func(goZero) error { <-leave; return nil })
	held := func() int {
		infos, err := admin.Inspect(t.Context(), l, "", 10)
		if err != nil {
			t.Error(err)
		}
		return len(infos)
	}
	if a := call.must(t, "42"); a.code != http.StatusServiceUnavailable || a.retryAfter != "" || held() != 1 {
		t.Errorf("%v, and %d locks", a, held())
	}
	close(leave)
	testkit.Eventually(t, "the lock is released", func() bool { return held() == 0 })
}
