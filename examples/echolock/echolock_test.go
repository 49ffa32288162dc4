package echolock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v5"
	"github.com/labstack/echo/v5/middleware"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/echolock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

var (
	byID = httpmw.Int(httpmw.PathValue("id"))
	pay  = distlock.Opts{Prefix: "shop:", Value: "pay", RetryCount: 1}
)

// answer is what a client gets.
type answer struct {
	code       int
	retryAfter string
	body       string
}

// serve listens with e and returns a function that posts to it.
func serve(t *testing.T, e *echo.Echo) func(path, body string) answer {
	t.Helper()
	server := httptest.NewServer(e)
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
// refused by Echo and does not run, and one for another order runs.
func TestLock(t *testing.T) {
	t.Parallel()
	store := testkit.NewStore()
	l := testkit.NewLocker(t, store, distlock.Config{})
	e := echo.New()
	inside := func() {}
	handler := func(c *echo.Context) error {
		if lease, ok := distlock.FromContext(c.Request().Context()); !ok || lease.Check() != nil {
			t.Error("the context of the request has no lease")
		}
		f := inside
		inside = func() {}
		f()
		return c.String(http.StatusOK, "paid "+c.Param("id"))
	}
	e.POST("/orders/:id/pay", handler, echolock.Lock(l, byID, pay))
	e.POST("/pay", handler, echolock.Lock(l, httpmw.JSONField("order", 100), pay))
	post := serve(t, e)
	inside = func() {
		busy := answer{http.StatusConflict, "1", `{"message":"Busy with another request"}`}
		if got := post("/orders/042/pay", ""); got != busy {
			t.Errorf("the same order: %v, want %v", got, busy)
		}
		if got := post("/pay", `{"order": 42}`); got != busy {
			t.Errorf("the same order in a field: %v, want %v", got, busy)
		}
		if got, want := post("/orders/43/pay", ""), (answer{http.StatusOK, "", "paid 43"}); got != want {
			t.Errorf("another order: %v, want %v", got, want)
		}
	}
	if got, want := post("/orders/42/pay", ""), (answer{http.StatusOK, "", "paid 42"}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := post("/orders/x/pay", ""), (answer{http.StatusBadRequest, "", `{"message":"the parameter is not an integer"}`}); got != want {
		t.Errorf("an order that is not a number: %v, want %v", got, want)
	}
	if got, want := post("/orders//pay", ""), (answer{http.StatusBadRequest, "", `{"message":"path value \"id\" is missing or empty"}`}); got != want {
		t.Errorf("no order: %v, want %v", got, want)
	}
	inside = func() { t.Error("a handler ran without its lock") }
	store.Fail(distlock.ErrUnavailable, testkit.Try, testkit.Wait)
	defer store.Fail(nil)
	if got, want := post("/orders/42/pay", ""), (answer{http.StatusServiceUnavailable, "1", `{"message":"Temporarily unavailable"}`}); got != want {
		t.Errorf("without the store: %v, want %v", got, want)
	}
}

// TestOthers: the middleware around the lock has the request with its own context, and can
// replace the errors of the lock and of the handler. A panic of the handler releases the lock.
func TestOthers(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	e := echo.New()
	var got error
	e.Use(middleware.Recover(), func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			got = next(c)
			if err := context.Cause(c.Request().Context()); err != nil {
				t.Errorf("after the lock: %v", err)
			}
			if got != nil && got.Error() == "failed" {
				return echo.NewHTTPError(http.StatusTeapot, "failed")
			}
			return got
		}
	})
	e.POST("/orders/:id", func(c *echo.Context) error {
		if c.Param("id") == "13" {
			panic("13")
		}
		return errors.New("failed")
	}, echolock.Lock(l, byID, pay))
	post := serve(t, e)
	for path, want := range map[string]int{"/orders/13": http.StatusInternalServerError, "/orders/42": http.StatusTeapot} {
		if got := post(path, ""); got.code != want {
			t.Errorf("%s: %v, want %d", path, got, want)
		}
	}
	if infos, err := admin.Inspect(t.Context(), l, "", 10); err != nil || len(infos) != 0 {
		t.Errorf("after the requests: %v, %v", infos, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if post("/orders/42", ""); !errors.Is(got, distlock.ErrClosed) || echo.StatusCode(got) != http.StatusServiceUnavailable {
		t.Errorf("a refusal is the error %v", got)
	}
}

// TestLoss: the context of the request ends when the lock is lost, and the client gets no
// success after that. An error of the handler is its own. Middleware sees what the client got.
func TestLoss(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer func(*echo.Context) error
		want   int
	}{
		"nothing":     {func(*echo.Context) error { return nil }, http.StatusFailedDependency},
		"a status":    {func(c *echo.Context) error { return c.NoContent(http.StatusNoContent) }, http.StatusFailedDependency},
		"a body":      {func(c *echo.Context) error { return c.JSON(http.StatusCreated, "paid") }, http.StatusFailedDependency},
		"its context": {func(c *echo.Context) error { return c.Request().Context().Err() }, http.StatusFailedDependency},
		"its cause":   {func(c *echo.Context) error { return context.Cause(c.Request().Context()) }, http.StatusFailedDependency},
		"an error":    {func(*echo.Context) error { return errors.New("in doubt") }, http.StatusInternalServerError},
		"a status of it": {func(c *echo.Context) error {
			return echo.ErrBadGateway.Wrap(context.Cause(c.Request().Context()))
		}, http.StatusBadGateway},
		"an answer": {func(c *echo.Context) error { return c.String(http.StatusBadGateway, "in doubt") }, http.StatusBadGateway},
	} {
		l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
		e := echo.New()
		seen := 0
		e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
			return func(c *echo.Context) error {
				err := next(c)
				_, seen = echo.ResolveResponseStatus(c.Response(), err)
				return err
			}
		})
		e.POST("/orders/:id", func(c *echo.Context) error {
			ctx := c.Request().Context()
			lease, _ := distlock.FromContext(ctx)
			if _, err := admin.ForceRelease(ctx, l, lease.Key()); err != nil {
				t.Error(err)
			}
			_ = lease.Refresh(ctx) // it notices
			<-ctx.Done()
			if err := context.Cause(ctx); !errors.Is(err, distlock.ErrLost) {
				t.Errorf("%s: the context ended with %v", name, err)
			}
			return test.answer(c)
		}, echolock.Lock(l, byID, pay))
		got := serve(t, e)("/orders/42", "")
		if lost := got.code == http.StatusFailedDependency; got.code != test.want || strings.Contains(got.body, "TypeLost") != lost || strings.Contains(got.body, "paid") {
			t.Errorf("%s: %v, want %d", name, got, test.want)
		}
		if seen != got.code {
			t.Errorf("%s: the middleware around the lock sees %d, and the client got %d", name, seen, got.code)
		}
	}
}

// Example locks a route of Echo by its path value.
func Example() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	e := echo.New()
	e.POST("/orders/:id/pay", func(c *echo.Context) error {
		lease, _ := distlock.FromContext(c.Request().Context())
		return c.String(http.StatusOK, fmt.Sprint("paid with a lock: ", lease.Check() == nil))
	}, echolock.Lock(locker, httpmw.Int(httpmw.PathValue("id")), distlock.Opts{Prefix: "shop:", Value: "pay", RetryCount: 1}))
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/orders/42/pay", http.NoBody))
	fmt.Println(w.Code, w.Body)
	// Output: 200 paid with a lock: true
}
