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
	lost := func(f func(*gin.Context)) reply[*gin.Context] {
		return reply[*gin.Context]{func(c *gin.Context) error { f(c); return nil }, http.StatusFailedDependency}
	}
	framework[*gin.Context]{
		start: startGin, context: func(c *gin.Context) context.Context { return c.Request.Context() },
		paid:    func(c *gin.Context) error { c.String(http.StatusOK, "paid %s", c.Param("id")); return nil },
		answers: problems,
		after: map[string]reply[*gin.Context]{
			"nothing":  lost(func(*gin.Context) {}),
			"a status": lost(func(c *gin.Context) { c.Status(http.StatusNoContent) }),
			"a body":   lost(func(c *gin.Context) { c.JSON(http.StatusCreated, "paid") }),
			"a stream": lost(func(c *gin.Context) { c.Writer.Flush() }),
			"text":     lost(func(c *gin.Context) { _, _ = c.Writer.WriteString("paid") }),
			"an error": lost(func(c *gin.Context) { c.String(http.StatusBadGateway, "in doubt") }),
			"aborted":  lost(func(c *gin.Context) { c.AbortWithStatus(http.StatusBadGateway) }),
			"a 404":    {func(c *gin.Context) error { c.String(http.StatusNotFound, ""); return nil }, http.StatusNotFound},
		},
	}.test(t)
}

func startGin(t *testing.T, l *distlock.Locker, o distlock.Opts, handler func(*gin.Context) error) call {
	t.Helper()
	engine := gin.New()
	engine.Use(gin.RecoveryWithWriter(io.Discard), func(c *gin.Context) {
		c.Next()
		outlives(c.Request.Context(), t)
	})
	engine.POST("/orders/:id/pay", ginlock.Use(httpmw.Lock(l, byID, o)), func(c *gin.Context) { _ = handler(c) })
	server := httptest.NewServer(engine)
	t.Cleanup(server.Close)
	return post(server.URL)
}
