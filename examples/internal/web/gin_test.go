package web_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/examples/ginlock"
	"github.com/distlock-go/distlock/httpmw"
)

func init() { gin.SetMode(gin.ReleaseMode) }

func TestGin(t *testing.T) {
	// in makes a handler of one for gin, which returns no error.
	in := func(f func(*gin.Context)) func(*gin.Context) error {
		return func(c *gin.Context) error { f(c); return nil }
	}
	framework[*gin.Context]{
		start: startGin, context: func(c *gin.Context) context.Context { return c.Request.Context() },
		paid: in(func(c *gin.Context) { c.String(http.StatusOK, "paid %s", c.Param("id")) }),
		busy: httpmw.TypeBusy, badKey: httpmw.TypeBadKey, unavailable: httpmw.TypeUnavailable, empty: http.StatusBadRequest,
		lost: map[string]answers[*gin.Context]{
			"nothing":  {in(func(*gin.Context) {}), http.StatusFailedDependency},
			"a status": {in(func(c *gin.Context) { c.Status(http.StatusNoContent) }), http.StatusFailedDependency},
			"a body":   {in(func(c *gin.Context) { c.JSON(http.StatusCreated, "paid") }), http.StatusFailedDependency},
			"a stream": {in(func(c *gin.Context) { c.Writer.Flush() }), http.StatusFailedDependency},
			"text":     {in(func(c *gin.Context) { _, _ = c.Writer.WriteString("paid") }), http.StatusFailedDependency},
			"an error": {in(func(c *gin.Context) { c.String(http.StatusBadGateway, "in doubt") }), http.StatusFailedDependency},
			"aborted":  {in(func(c *gin.Context) { c.AbortWithStatus(http.StatusBadGateway) }), http.StatusFailedDependency},
		},
	}.test(t)
}

func startGin(t *testing.T, l *distlock.Locker, routes ...route[*gin.Context]) string {
	t.Helper()
	engine := gin.New()
	engine.Use(gin.RecoveryWithWriter(io.Discard), func(c *gin.Context) {
		c.Next()
		outlives(c.Request.Context(), t)
	})
	for _, r := range routes {
		engine.POST(r.path, ginlock.Use(httpmw.Lock(l, r.key, pay)), func(c *gin.Context) { _ = r.handler(c) })
	}
	server := httptest.NewServer(engine)
	t.Cleanup(server.Close)
	return server.URL
}
