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
	lost := func(f func(*echo.Context) error) reply[*echo.Context] {
		return reply[*echo.Context]{f, http.StatusFailedDependency}
	}
	answers := problems
	answers.busy.body, answers.away.body = `{"message":"Busy with another request"}`, `{"message":"Temporarily unavailable"}`
	answers.badKey.body = `{"message":"not a number"}`
	framework[*echo.Context]{
		start: startEcho, context: func(c *echo.Context) context.Context { return c.Request().Context() },
		paid:    func(c *echo.Context) error { return c.String(http.StatusOK, "paid "+c.Param("id")) },
		answers: answers,
		after: map[string]reply[*echo.Context]{
			"nothing":        lost(func(*echo.Context) error { return nil }),
			"a status":       lost(func(c *echo.Context) error { return c.NoContent(http.StatusNoContent) }),
			"a body":         lost(func(c *echo.Context) error { return c.JSON(http.StatusCreated, "paid") }),
			"its context":    lost(func(c *echo.Context) error { return c.Request().Context().Err() }),
			"its cause":      lost(cause),
			"an error":       lost(func(*echo.Context) error { return errors.New("in doubt") }),
			"a status of it": lost(func(c *echo.Context) error { return echo.ErrBadGateway.Wrap(cause(c)) }),
			"an answer":      lost(func(c *echo.Context) error { return c.String(http.StatusBadGateway, "in doubt") }),
			"a 404":          {func(*echo.Context) error { return echo.ErrNotFound }, http.StatusNotFound},
		},
	}.test(t)
}

// startEcho checks that the middleware around the lock sees the status that the client
// gets.
func startEcho(t *testing.T, l *distlock.Locker, o distlock.Opts, handler func(*echo.Context) error) call {
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
	e.POST("/orders/:id/pay", handler, echolock.Lock(l, byID, o))
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
	return post(server.URL)
}

// TestEchoErrors: the middleware around the lock can replace the errors of the lock and
// of the handler.
func TestEchoErrors(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	want := errors.New("failed")
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			if err := next(c); !errors.Is(err, want) {
				t.Errorf("the error is %v, want %v", err, want)
			}
			return echo.NewHTTPError(http.StatusTeapot, "")
		}
	})
	e.POST("/orders/:id", func(*echo.Context) error { return want }, echolock.Lock(l, byID, pay))
	for range 2 {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/orders/42", http.NoBody))
		if w.Code != http.StatusTeapot {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		_ = l.Close()
		want = distlock.ErrClosed
	}
}
