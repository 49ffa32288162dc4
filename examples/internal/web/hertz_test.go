package web_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/hlog"
	"github.com/cloudwego/hertz/pkg/network"
	"github.com/cloudwego/hertz/pkg/protocol/http1/resp"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/wiring"
)

func init() {
	hlog.SetOutput(io.Discard)
	log.SetOutput(io.Discard)
}

// hertzLock runs the handlers of a route of Hertz under the lock of what key returns.
func hertzLock(site *wiring.Site, key func(*app.RequestContext) (any, error)) app.HandlerFunc {
	return func(ctx context.Context, c *app.RequestContext) {
		ran := false
		params, err := key(c)
		if err == nil {
			err = site.Do(ctx, params, func(ctx context.Context) error { ran = true; c.Next(ctx); return nil })
		}
		if err == nil || ran && (c.Response.StatusCode()/100 == 4 || c.Response.GetHijackWriter() != nil) {
			return // the handler has refused the request, or has begun its answer
		}
		p := httpmw.ProblemOf(err)
		if p.RetryAfter > 0 {
			c.Header("Retry-After", fmt.Sprint(math.Ceil(p.RetryAfter.Seconds())))
		}
		c.SetHijackHandler(nil)
		c.Response.ResetBody()
		c.AbortWithStatusJSON(p.Status, p)
	}
}

// hertz is what a handler of Hertz gets.
type hertz struct {
	ctx context.Context
	c   *app.RequestContext
}

func TestHertz(t *testing.T) {
	// lost is the answer to what a handler does.
	lost := func(f func(*app.RequestContext)) reply[hertz] {
		return reply[hertz]{func(h hertz) error { f(h.c); return nil }, http.StatusFailedDependency}
	}
	late := lost(func(c *app.RequestContext) {
		c.Response.HijackWriter(resp.NewChunkedBodyWriter(&c.Response, c.GetWriter()))
		_, _ = c.WriteString("paid")
		_ = c.Flush()
	})
	late.code = http.StatusOK
	answers := problems
	answers.empty.code = http.StatusNotFound
	framework[hertz]{
		start: startHertz, context: func(h hertz) context.Context { return h.ctx },
		paid:    func(h hertz) error { h.c.String(http.StatusOK, "paid %s", h.c.Param("id")); return nil },
		answers: answers,
		after: map[string]reply[hertz]{
			"nothing":  lost(func(*app.RequestContext) {}),
			"a status": lost(func(c *app.RequestContext) { c.Status(http.StatusNoContent) }),
			"a body":   lost(func(c *app.RequestContext) { c.JSON(http.StatusCreated, "paid") }),
			"a stream": lost(func(c *app.RequestContext) { c.SetBodyStream(strings.NewReader("paid"), -1) }),
			"a hijack": lost(func(c *app.RequestContext) { c.Hijack(func(network.Conn) { t.Error("hijacked") }) }),
			"an error": lost(func(c *app.RequestContext) { c.String(http.StatusBadGateway, "in doubt") }),
			"aborted":  lost(func(c *app.RequestContext) { c.AbortWithStatus(http.StatusBadGateway) }),
			"chunks":   late,
			"a 404":    {func(h hertz) error { h.c.String(http.StatusNotFound, ""); return nil }, http.StatusNotFound},
		},
	}.test(t)
}

// startHertz checks that what the handlers around the lock have set is in the answer.
func startHertz(t *testing.T, l *distlock.Locker, o distlock.Opts, handler func(hertz) error) call {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := server.Default(server.WithListener(listener), server.WithSenseClientDisconnection(true))
	h.Use(func(ctx context.Context, c *app.RequestContext) {
		c.Header("Access-Control-Allow-Origin", "*")
		c.Next(ctx)
		outlives(ctx, t)
		if c.Response.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("the answer has the headers %s", c.Response.Header.Header())
		}
	})
	o.ParamLock = true
	key := func(c *app.RequestContext) (any, error) { return number(c.Param("id")) }
	h.POST("/orders/:id/pay", hertzLock(wiring.Bind(l, o), key), func(ctx context.Context, c *app.RequestContext) {
		_ = handler(hertz{ctx, c})
	})
	ended := make(chan error)
	go func() { ended <- h.Run() }()
	t.Cleanup(func() {
		_ = h.Close() // the error says that a connection is still open
		<-ended
	})
	return post("http://" + listener.Addr().String())
}
