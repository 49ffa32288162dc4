package web_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v5"
	"github.com/labstack/echo/v5/middleware"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/echolock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestEcho(t *testing.T) {
	cause := func(c *echo.Context) error { return context.Cause(c.Request().Context()) }
	framework[*echo.Context]{
		start: startEcho, context: func(c *echo.Context) context.Context { return c.Request().Context() },
		paid: func(c *echo.Context) error { return c.String(http.StatusOK, "paid "+c.Param("id")) },
		busy: `{"message":"Busy with another request"}`, badKey: `{"message":"the parameter is not an integer"}`,
		unavailable: `{"message":"Temporarily unavailable"}`, empty: http.StatusBadRequest,
		lost: map[string]answers[*echo.Context]{
			"nothing":        {func(*echo.Context) error { return nil }, http.StatusFailedDependency},
			"a status":       {func(c *echo.Context) error { return c.NoContent(http.StatusNoContent) }, http.StatusFailedDependency},
			"a body":         {func(c *echo.Context) error { return c.JSON(http.StatusCreated, "paid") }, http.StatusFailedDependency},
			"its context":    {func(c *echo.Context) error { return c.Request().Context().Err() }, http.StatusFailedDependency},
			"its cause":      {cause, http.StatusFailedDependency},
			"an error":       {func(*echo.Context) error { return errors.New("in doubt") }, http.StatusFailedDependency},
			"a status of it": {func(c *echo.Context) error { return echo.ErrBadGateway.Wrap(cause(c)) }, http.StatusFailedDependency},
			"an answer":      {func(c *echo.Context) error { return c.String(http.StatusBadGateway, "in doubt") }, http.StatusFailedDependency},
		},
	}.test(t)
}

// startEcho checks that the middleware around the lock sees the status that the client gets.
func startEcho(t *testing.T, l *distlock.Locker, routes ...route[*echo.Context]) string {
	t.Helper()
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			err := next(c)
			outlives(c.Request().Context(), t)
			_, *c.Request().Context().Value(e).(*int) = echo.ResolveResponseStatus(c.Response(), err)
			return err
		}
	}, middleware.Recover())
	for _, r := range routes {
		e.POST(r.path, r.handler, echolock.Lock(l, r.key, pay))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen, got := 0, httptest.NewRecorder()
		e.ServeHTTP(got, r.WithContext(context.WithValue(r.Context(), e, &seen)))
		if seen != got.Code {
			t.Errorf("the middleware around the lock sees %d, and the client gets %d", seen, got.Code)
		}
		maps.Copy(w.Header(), got.Header())
		w.WriteHeader(got.Code)
		_, _ = w.Write(got.Body.Bytes())
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestEchoErrors: the middleware around the lock can replace the errors of the lock and of the
// handler.
func TestEchoErrors(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	failed := errors.New("failed")
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			err := next(c)
			if closed := errors.Is(err, distlock.ErrClosed) && echo.StatusCode(err) == http.StatusServiceUnavailable; !closed && !errors.Is(err, failed) {
				t.Errorf("the error is %v", err)
			}
			return echo.NewHTTPError(http.StatusTeapot, "")
		}
	})
	e.POST("/orders/:id", func(*echo.Context) error { return failed }, echolock.Lock(l, byID, pay))
	for range 2 {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/orders/42", http.NoBody))
		if w.Code != http.StatusTeapot {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		_ = l.Close() // the second request is refused
	}
}
