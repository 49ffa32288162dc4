package web_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/config"
	"github.com/cloudwego/hertz/pkg/common/hlog"
	"github.com/cloudwego/hertz/pkg/common/ut"
	"github.com/cloudwego/hertz/pkg/network"
	"github.com/cloudwego/hertz/pkg/protocol/http1/resp"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/hertzlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func init() {
	hlog.SetOutput(io.Discard)
	log.SetOutput(io.Discard) // TestHertzPaths has a mistake on purpose
}

// hertz is what a handler of Hertz gets.
type hertz struct {
	ctx context.Context
	c   *app.RequestContext
}

func TestHertz(t *testing.T) {
	// lost is the answer to what a handler does. The header Etag goes with its body.
	lost := func(f func(*app.RequestContext)) reply[hertz] {
		return reply[hertz]{func(h hertz) error { h.c.Header("Etag", "paid"); f(h.c); return nil }, http.StatusFailedDependency}
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
	return post(serveHertz(t, func(h *server.Hertz) {
		h.Use(func(ctx context.Context, c *app.RequestContext) {
			c.Header("Access-Control-Allow-Origin", "*")
			c.Next(ctx)
			outlives(ctx, t)
			if c.Response.Header.Get("Access-Control-Allow-Origin") != "*" || c.Response.StatusCode() == http.StatusFailedDependency && c.Response.Header.Get("Etag") != "" {
				t.Errorf("the answer has the headers %s", c.Response.Header.Header())
			}
		})
		h.POST("/orders/:id/pay", hertzlock.Use(httpmw.Lock(l, byID, o)), func(ctx context.Context, c *app.RequestContext) {
			_ = handler(hertz{ctx, c})
		})
	}, server.WithSenseClientDisconnection(true)))
}

// serveHertz starts a server on a port of its own and returns its address.
func serveHertz(t *testing.T, routes func(*server.Hertz), opts ...config.Option) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := server.Default(append(opts, server.WithListener(listener))...)
	routes(h)
	ended := make(chan error)
	go func() { ended <- h.Run() }()
	t.Cleanup(func() {
		_ = h.Close() // the error says that a connection is still open
		<-ended
	})
	return "http://" + listener.Addr().String()
}

// TestHertzPaths: a value is one lock in each of its spellings, and with each way of
// Hertz to find a route. A value that is empty or malformed is refused, and a route
// without the parameter is a mistake of the server.
func TestHertzPaths(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]config.Option{
		"by default":  nil,
		"raw path":    {server.WithUseRawPath(true)},
		"not decoded": {server.WithUseRawPath(true), server.WithUnescapePathValues(false)},
	} {
		lock := hertzlock.Use(httpmw.Lock(testkit.NewLocker(t, memlock.New(), distlock.Config{}), httpmw.PathValue("name"), pay))
		url := serveHertz(t, func(h *server.Hertz) {
			for _, path := range []string{"/orders/:name", "/files/*name", "/all"} {
				h.POST(path, lock, func(ctx context.Context, c *app.RequestContext) {
					lease, _ := distlock.FromContext(ctx)
					c.String(http.StatusOK, lease.Key())
				})
			}
		}, opts...)
		for path, want := range map[string]outcome{
			"/orders/a%41": {200, "shop:pay:aA"}, "/orders/aA": {200, "shop:pay:aA"}, "/files/a/b": {200, "shop:pay:a/b"}, "/files/%61/b": {200, "shop:pay:a/b"},
			"/orders/a%2541": {200, "shop:pay:a%2541"}, "/orders/%61%2541": {200, "shop:pay:a%2541"}, "/files/": {400, ""}, "/all": {500, ""},
		} {
			a, err := send(t.Context(), url+path, http.NoBody)
			if err != nil || a.code != want.code || want.body != "" && a.body != want.body {
				t.Errorf("%s: %s: %+v, want %v, %v", name, path, a, want, err)
			}
		}
	}
	h := server.New()
	h.POST("/orders/:id", hertzlock.Use(httpmw.Lock(testkit.NewLocker(t, memlock.New(), distlock.Config{}), byID, pay)))
	if got := ut.PerformRequest(h.Engine, http.MethodPost, "/orders/%zz", nil).Result(); got.StatusCode() != http.StatusBadRequest || !strings.Contains(string(got.Body()), httpmw.TypeBadKey) {
		t.Errorf("malformed: %d %s", got.StatusCode(), got.Body())
	}
}

// TestHertzStreamBody: with WithStreamBody a key from the body has the handler find it
// in Body, and with another key it has its stream.
func TestHertzStreamBody(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	url := serveHertz(t, func(h *server.Hertz) {
		h.POST("/pay", hertzlock.Use(httpmw.Lock(l, httpmw.JSONField("id", 1<<20), pay)), func(_ context.Context, c *app.RequestContext) {
			c.Data(http.StatusOK, "text/plain", c.Request.Body())
		})
		h.POST("/orders/:id", hertzlock.Use(httpmw.Lock(l, byID, pay)), func(_ context.Context, c *app.RequestContext) {
			text, _ := io.ReadAll(c.RequestBodyStream())
			c.Data(http.StatusOK, "text/plain", text)
		})
	}, server.WithStreamBody(true))
	text := `{"id":42,"pad":"` + strings.Repeat("x", 100_000) + `"}`
	for _, c := range []struct {
		path string
		body io.Reader
		want outcome
	}{
		{"/pay", strings.NewReader(text), outcome{200, text}},
		{"/orders/42", strings.NewReader(text), outcome{200, text}},
		{"/pay", http.NoBody, outcome{400, ""}},
		{"/pay", io.LimitReader(strings.NewReader(text), 1e6), outcome{400, ""}}, // without a length
	} {
		if a, err := send(t.Context(), url+c.path, c.body); err != nil || a.code != c.want.code || !strings.Contains(a.body, c.want.body) {
			t.Errorf("%s: %d, %d bytes, %v", c.path, a.code, len(a.body), err)
		}
	}
}
