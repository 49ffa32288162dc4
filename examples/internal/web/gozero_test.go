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
	"github.com/distlock-go/distlock/examples/gozerolock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func init() { logx.Disable() }

// goZero is what a handler of go-zero gets.
type goZero struct {
	w http.ResponseWriter
	r *http.Request
}

func (c goZero) fail() error { return context.Cause(c.r.Context()) }

func (c goZero) answer(body string) error { httpx.OkJsonCtx(c.r.Context(), c.w, body); return nil }

func TestGoZero(t *testing.T) {
	framework[goZero]{
		start: func(t *testing.T, l *distlock.Locker, routes ...route[goZero]) string {
			t.Helper()
			return startGoZero(t, l, time.Minute, routes)
		},
		context: func(c goZero) context.Context { return c.r.Context() },
		paid:    func(c goZero) error { return c.answer("paid " + pathvar.Vars(c.r)["id"]) },
		busy:    "rpc error: code = Aborted desc = busy with another call", badKey: "the parameter is not an integer",
		unavailable: "rpc error: code = Unavailable desc = locks are temporarily unavailable", empty: http.StatusNotFound,
		lost: map[string]answers[goZero]{
			"nothing":  {func(goZero) error { return nil }, http.StatusFailedDependency},
			"a status": {func(c goZero) error { httpx.Ok(c.w); return nil }, http.StatusFailedDependency},
			"a body":   {func(c goZero) error { return c.answer("paid") }, http.StatusFailedDependency},
			"an error": {goZero.fail, http.StatusBadRequest},
		},
	}.test(t)
}

// startGoZero starts a server with all of go-zero's middleware.
func startGoZero(t *testing.T, l *distlock.Locker, timeout time.Duration, routes []route[goZero]) string {
	t.Helper()
	server := rest.MustNewServer(rest.RestConf{
		ServiceConf: service.ServiceConf{Name: "shop", Mode: service.TestMode},
		MaxConns:    10, MaxBytes: 1 << 20, Timeout: timeout.Milliseconds(),
		Middlewares: rest.MiddlewaresConf{
			Trace: true, Log: true, Prometheus: true, MaxConns: true, Breaker: true, Shedding: true,
			Timeout: true, Recover: true, Metrics: true, MaxBytes: true, Gunzip: true,
		},
	})
	for _, r := range routes {
		server.AddRoutes(rest.WithMiddleware(gozerolock.Lock(l, r.key, pay), rest.Route{
			Method: http.MethodPost, Path: r.path,
			Handler: func(w http.ResponseWriter, got *http.Request) {
				if err := r.handler(goZero{w, got}); err != nil {
					httpx.ErrorCtx(got.Context(), w, err)
				}
			},
		}))
	}
	built, err := rest.NewServerless(server)
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(http.HandlerFunc(built.Serve))
	t.Cleanup(listening.Close)
	return listening.URL
}

// TestGoZeroTimeout: when go-zero's time for a request has passed, its answer is 503 without
// Retry-After, and the handler has its lock until it returns.
func TestGoZeroTimeout(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	leave := make(chan bool)
	url := startGoZero(t, l, 50*time.Millisecond, []route[goZero]{{"/orders/:id", byID, func(c goZero) error {
		<-c.r.Context().Done()
		<-leave
		return nil
	}}})
	held := func() int {
		infos, err := admin.Inspect(t.Context(), l, "", 10)
		if err != nil {
			t.Error(err)
		}
		return len(infos)
	}
	if got := post(t, url+"/orders/42", ""); got.code != http.StatusServiceUnavailable || got.header.Get("Retry-After") != "" || held() != 1 {
		t.Errorf("%v, and %d locks", got, held())
	}
	close(leave)
	testkit.Eventually(t, "the lock is released", func() bool { return held() == 0 })
}
