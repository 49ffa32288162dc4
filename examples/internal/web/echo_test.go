package web_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v5"
	"github.com/labstack/echo/v5/middleware"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
)

func TestEcho(t *testing.T) {
	cause := func(c *echo.Context) error { return context.Cause(c.Request().Context()) }
	lost := func(f func(*echo.Context) error) reply[*echo.Context] {
		return reply[*echo.Context]{f, http.StatusFailedDependency}
	}
	framework[*echo.Context]{
		start: startEcho, context: func(c *echo.Context) context.Context { return c.Request().Context() },
		paid:    func(c *echo.Context) error { return c.String(http.StatusOK, "paid "+c.Param("id")) },
		answers: problems,
		after: map[string]reply[*echo.Context]{
			"nothing":        lost(func(*echo.Context) error { return nil }),
			"a status":       lost(func(c *echo.Context) error { return c.NoContent(http.StatusNoContent) }),
			"a body":         lost(func(c *echo.Context) error { return c.JSON(http.StatusCreated, "paid") }),
			"its context":    lost(func(c *echo.Context) error { return c.Request().Context().Err() }),
			"its cause":      lost(cause),
			"an error":       lost(func(*echo.Context) error { return errors.New("in doubt") }),
			"a status of it": lost(func(c *echo.Context) error { return echo.ErrBadGateway.Wrap(cause(c)) }),
			"an answer":      lost(func(c *echo.Context) error { return c.String(http.StatusBadGateway, "in doubt") }),
			"a 404":          lost(func(*echo.Context) error { return echo.ErrNotFound }), // Echo answers when the lock has
			"its own 404":    {func(c *echo.Context) error { return c.NoContent(http.StatusNotFound) }, http.StatusNotFound},
		},
	}.test(t)
}

func startEcho(t *testing.T, l *distlock.Locker, o distlock.Opts, handler func(*echo.Context) error) call {
	t.Helper()
	e := echo.New()
	e.Logger = slog.New(slog.DiscardHandler)
	e.Use(middleware.Recover())
	e.POST("/orders/:id/pay", handler, echo.WrapMiddleware(httpmw.Lock(l, byID, o)))
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return post(server.URL)
}
