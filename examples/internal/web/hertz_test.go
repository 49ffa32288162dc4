package web_test

import (
	"context"
	"errors"
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
	"github.com/distlock-go/distlock/wiring"
)

func init() {
	hlog.SetOutput(io.Discard)
	log.SetOutput(io.Discard) // TestHertzPaths has a mistake on purpose
}

// hertzByID has the key of the order in the path.
func hertzByID(l *distlock.Locker) app.HandlerFunc { return hertzlock.Use(httpmw.Lock(l, byID, pay)) }

// hertz is what a handler of Hertz gets.
type hertz struct {
	ctx context.Context
	c   *app.RequestContext
}

func TestHertz(t *testing.T) {
	// in makes a handler of what it does with the answer. The header Etag goes with its body.
	in := func(f func(*app.RequestContext)) func(hertz) error {
		return func(h hertz) error {
			h.c.Header("Etag", "paid")
			f(h.c)
			return nil
		}
	}
	framework[hertz]{
		start: startHertz, context: func(h hertz) context.Context { return h.ctx },
		paid: func(h hertz) error { h.c.String(http.StatusOK, "paid %s", h.c.Param("id")); return nil },
		busy: httpmw.TypeBusy, badKey: httpmw.TypeBadKey, unavailable: httpmw.TypeUnavailable, empty: http.StatusNotFound,
		lost: map[string]answers[hertz]{
			"nothing":  {in(func(*app.RequestContext) {}), http.StatusFailedDependency},
			"a status": {in(func(c *app.RequestContext) { c.Status(http.StatusNoContent) }), http.StatusFailedDependency},
			"a body":   {in(func(c *app.RequestContext) { c.JSON(http.StatusCreated, "paid") }), http.StatusFailedDependency},
			"a stream": {in(func(c *app.RequestContext) { c.SetBodyStream(strings.NewReader("paid"), -1) }), http.StatusFailedDependency},
			"a hijack": {in(func(c *app.RequestContext) { c.Hijack(func(network.Conn) { t.Error("hijacked") }) }), http.StatusFailedDependency},
			"an error": {in(func(c *app.RequestContext) { c.String(http.StatusBadGateway, "in doubt") }), http.StatusFailedDependency},
			"aborted":  {in(func(c *app.RequestContext) { c.AbortWithStatus(http.StatusBadGateway) }), http.StatusFailedDependency},
			"chunks":   {in(chunk), http.StatusOK}, // too late
		},
	}.test(t)
}

// startHertz checks that what the handlers around the lock have set is in the answer.
func startHertz(t *testing.T, l *distlock.Locker, routes ...route[hertz]) string {
	t.Helper()
	return serveHertz(t, func(h *server.Hertz) {
		h.Use(func(ctx context.Context, c *app.RequestContext) {
			c.Header("Access-Control-Allow-Origin", "*")
			c.Next(ctx)
			outlives(ctx, t)
			if c.Response.Header.Get("Access-Control-Allow-Origin") != "*" || c.Response.StatusCode() == http.StatusFailedDependency && c.Response.Header.Get("Etag") != "" {
				t.Errorf("the answer has the headers %s", c.Response.Header.Header())
			}
		})
		for _, r := range routes {
			h.POST(r.path, hertzlock.Use(httpmw.Lock(l, r.key, pay)), func(ctx context.Context, c *app.RequestContext) {
				_ = r.handler(hertz{ctx, c})
			})
		}
	})
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

// chunk begins the answer.
func chunk(c *app.RequestContext) {
	c.Response.HijackWriter(resp.NewChunkedBodyWriter(&c.Response, c.GetWriter()))
	_, _ = c.WriteString("paid")
	_ = c.Flush()
}

// TestHertzMalformed: Hertz serves an address that net/http does not, and it is refused.
func TestHertzMalformed(t *testing.T) {
	t.Parallel()
	h := server.New()
	h.POST("/orders/:id", hertzByID(testkit.NewLocker(t, memlock.New(), distlock.Config{})), func(context.Context, *app.RequestContext) {
		t.Error("a handler runs without the lock")
	})
	got := ut.PerformRequest(h.Engine, http.MethodPost, "/orders/%zz", nil).Result()
	if got.StatusCode() != http.StatusBadRequest || !strings.Contains(string(got.Body()), httpmw.TypeBadKey) {
		t.Errorf("%d %s", got.StatusCode(), got.Body())
	}
}

// TestHertzPaths: a value is one lock in each of its spellings, and with each way of Hertz to find
// a route. A value that is empty is refused, and a route without the parameter is a mistake
// of the server.
func TestHertzPaths(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]config.Option{
		"by default":  nil,
		"raw path":    {server.WithUseRawPath(true)},
		"not decoded": {server.WithUseRawPath(true), server.WithUnescapePathValues(false)},
	} {
		l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
		lock := hertzlock.Use(httpmw.Lock(l, httpmw.PathValue("name"), pay))
		url := serveHertz(t, func(h *server.Hertz) {
			handler := func(ctx context.Context, c *app.RequestContext) {
				lease, _ := distlock.FromContext(ctx)
				c.String(http.StatusOK, lease.Key())
			}
			h.POST("/orders/:name", lock, handler)
			h.POST("/files/*name", lock, handler)
			h.POST("/all", lock, handler)
		}, opts...)
		o := pay
		o.ParamLock = true
		for path, value := range map[string]string{"/orders/a%41": "aA", "/orders/aA": "aA", "/orders/a%2541": "a%41", "/orders/%61%2541": "a%41", "/files/a/b": "a/b", "/files/%61/b": "a/b"} {
			want, err := wiring.Key(o, value)
			if a := post(t, url+path, ""); err != nil || a.code != http.StatusOK || a.body != want {
				t.Errorf("%s: %s: %+v, want %s, %v", name, path, a, want, err)
			}
		}
		for path, want := range map[string]int{"/files/": http.StatusBadRequest, "/all": http.StatusInternalServerError} {
			if a := post(t, url+path, ""); a.code != want {
				t.Errorf("%s: %s: %+v", name, path, a)
			}
		}
	}
}

// TestHertzStreamBody: with WithStreamBody a key from the body has the handler find it in Body,
// and with another key it has its stream.
func TestHertzStreamBody(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	url := serveHertz(t, func(h *server.Hertz) {
		h.POST("/pay", hertzlock.Use(httpmw.Lock(l, httpmw.JSONField("id", 1<<20), pay)), func(_ context.Context, c *app.RequestContext) {
			c.Data(http.StatusOK, "text/plain", c.Request.Body())
		})
		h.POST("/orders/:id", hertzByID(l), func(_ context.Context, c *app.RequestContext) {
			text, err := io.ReadAll(c.RequestBodyStream())
			if err != nil {
				t.Error(err)
			}
			c.Data(http.StatusOK, "text/plain", text)
		})
	}, server.WithStreamBody(true))
	body := `{"id":42,"pad":"` + strings.Repeat("x", 100_000) + `"}`
	for _, path := range []string{"/pay", "/orders/42"} {
		if a := post(t, url+path, body); a.code != http.StatusOK || a.body != body {
			t.Errorf("%s: %d, %d bytes", path, a.code, len(a.body))
		}
	}
	if a := post(t, url+"/pay", ""); a.code != http.StatusBadRequest {
		t.Errorf("no body: %+v", a)
	}
	chunks := io.LimitReader(strings.NewReader(body), 1e6)
	if a, err := postWith(t.Context(), url+"/pay", chunks); err != nil || a.code != http.StatusBadRequest {
		t.Errorf("without a length: %+v, %v", a, err)
	}
}

// TestHertzClientLeaves: with WithSenseClientDisconnection a request whose client has left gives
// up its wait.
func TestHertzClientLeaves(t *testing.T) {
	t.Parallel()
	store := testkit.NewStore()
	l := testkit.NewLocker(t, store, distlock.Config{})
	key, err := wiring.Key(distlock.Opts{Prefix: pay.Prefix, Value: pay.Value, ParamLock: true}, 42)
	if err != nil {
		t.Fatal(err)
	}
	held := testkit.MustAcquire(t, testkit.NewLocker(t, store.Memory(), distlock.Config{}), key, distlock.Opts{})
	returned := make(chan bool)
	url := serveHertz(t, func(h *server.Hertz) {
		h.POST("/orders/:id", func(ctx context.Context, c *app.RequestContext) {
			c.Next(ctx)
			returned <- c.IsAborted()
		}, hertzlock.Use(httpmw.Lock(l, byID, distlock.Opts{Prefix: pay.Prefix, Value: pay.Value})), func(context.Context, *app.RequestContext) {
			t.Error("a handler runs without the lock")
		})
	}, server.WithSenseClientDisconnection(true))
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := postWith(ctx, url+"/orders/42", http.NoBody)
		left <- err
	}()
	testkit.Eventually(t, "the request waits", func() bool { return len(store.Calls(testkit.Enqueue)) == 1 })
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !<-returned {
		t.Error("the request was not refused")
	}
	if err := held.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
