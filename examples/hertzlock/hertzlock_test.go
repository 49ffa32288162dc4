package hertzlock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/hertzlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

func init() {
	hlog.SetOutput(io.Discard)
	log.SetOutput(io.Discard) // TestPaths has a mistake on purpose
}

var pay = distlock.Opts{Prefix: "shop:", Value: "pay", RetryCount: 1}

// byID has the key of the order in the path.
func byID(l *distlock.Locker) app.HandlerFunc {
	return hertzlock.Use(httpmw.Lock(l, httpmw.Int(httpmw.PathValue("id")), pay))
}

// serve starts a server on a port of its own and returns its address.
func serve(tb testing.TB, routes func(*server.Hertz), opts ...config.Option) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	h := server.Default(append(opts, server.WithListener(listener))...)
	routes(h)
	ended := make(chan error)
	go func() { ended <- h.Run() }()
	tb.Cleanup(func() {
		_ = h.Close() // the error says that a connection is still open
		<-ended
	})
	return "http://" + listener.Addr().String()
}

// answer is a response. The problem is there if it is one.
type answer struct {
	code    int
	header  http.Header
	body    string
	problem httpmw.Problem
}

// post sends a request over a connection of its own.
func post(ctx context.Context, url, body string) (a answer, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return a, err
	}
	r.Close = true
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return a, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	a = answer{code: got.StatusCode, header: got.Header, body: string(text)}
	if err == nil && got.Header.Get("Content-Type") == "application/problem+json" {
		err = json.Unmarshal(text, &a.problem)
	}
	return a, err
}

// mustPost is post for requests that get an answer, in a test or in a handler.
func mustPost(t *testing.T, url, body string) answer {
	t.Helper()
	a, err := post(t.Context(), url, body)
	if err != nil {
		t.Errorf("%s: %v", url, err)
	}
	return a
}

// TestUse: while a request holds the lock of its order, which is in the path or in the body,
// another one for the same order gets 409 and does not run, and one for another order runs.
func TestUse(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	inside := make(chan func(), 1) // what the next handler does
	handler := func(ctx context.Context, c *app.RequestContext) {
		if lease, ok := distlock.FromContext(ctx); !ok || lease.Check() != nil {
			t.Error("the context of the handler has no lease")
		}
		select {
		case f := <-inside:
			f()
		default:
		}
		c.String(http.StatusOK, "paid %s%s", c.Param("id"), c.Request.Body())
	}
	url := serve(t, func(h *server.Hertz) {
		h.POST("/orders/:id/pay", byID(l), handler)
		h.POST("/pay", hertzlock.Use(httpmw.Lock(l, httpmw.JSONField("order.id", 0), pay)), handler)
	})
	for _, first := range [][2]string{{"/orders/42/pay", ""}, {"/pay", `{"order":{"id":42}}`}} {
		inside <- func() {
			for _, same := range [][2]string{{"/orders/042/pay", ""}, {"/pay", `{"order":{"id":42}}`}} {
				if a := mustPost(t, url+same[0], same[1]); a.code != http.StatusConflict || a.problem.Type != httpmw.TypeBusy || a.header.Get("Retry-After") != "1" {
					t.Errorf("%s %s while %s runs: %+v", same[0], same[1], first[0], a)
				}
			}
			if a := mustPost(t, url+"/orders/43/pay", ""); a.code != http.StatusOK || a.body != "paid 43" {
				t.Errorf("another order: %+v", a)
			}
		}
		if a := mustPost(t, url+first[0], first[1]); a.code != http.StatusOK || !strings.HasPrefix(a.body, "paid ") || !strings.HasSuffix(a.body, first[1]) {
			t.Errorf("%s: %+v", first[0], a)
		}
	}
	for _, wrong := range [][2]string{{"/orders/x/pay", ""}, {"/pay", "{}"}, {"/pay", ""}} {
		if a := mustPost(t, url+wrong[0], wrong[1]); a.code != http.StatusBadRequest || a.problem.Type != httpmw.TypeBadKey {
			t.Errorf("%q: %+v", wrong, a)
		}
	}
}

// TestMalformed: Hertz serves an address that net/http does not, and it is refused.
func TestMalformed(t *testing.T) {
	t.Parallel()
	h := server.New()
	h.POST("/orders/:id", byID(testkit.NewLocker(t, memlock.New(), distlock.Config{})), func(context.Context, *app.RequestContext) {
		t.Error("a handler runs without the lock")
	})
	got := ut.PerformRequest(h.Engine, http.MethodPost, "/orders/%zz", nil).Result()
	if got.StatusCode() != http.StatusBadRequest || !strings.Contains(string(got.Body()), httpmw.TypeBadKey) {
		t.Errorf("%d %s", got.StatusCode(), got.Body())
	}
}

// TestUnavailable: if the store fails, the answer is 503, without a word about the store, and
// no handler behind the lock is called.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	store := testkit.NewStore()
	store.Fail(testkit.ErrBroken, testkit.Try)
	l := testkit.NewLocker(t, store, distlock.Config{})
	url := serve(t, func(h *server.Hertz) {
		never := func(context.Context, *app.RequestContext) { t.Error("a handler runs without the lock") }
		h.POST("/orders/:id", func(ctx context.Context, c *app.RequestContext) {
			c.Header("Access-Control-Allow-Origin", "*")
			c.Next(ctx)
			if !c.IsAborted() {
				t.Error("the request is not aborted")
			}
		}, byID(l), never)
	})
	a := mustPost(t, url+"/orders/42", "")
	if a.code != http.StatusServiceUnavailable || a.problem.Type != httpmw.TypeUnavailable || a.header.Get("Retry-After") == "" || strings.Contains(a.body, "broken") {
		t.Errorf("%+v", a)
	}
	if a.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("what other handlers have set is lost: %v", a.header)
	}
}

// TestOthers: the handlers around the lock keep their own context, and a panic of the handler
// releases the lock.
func TestOthers(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	url := serve(t, func(h *server.Hertz) {
		h.Use(func(ctx context.Context, c *app.RequestContext) {
			c.Next(ctx)
			if err := context.Cause(ctx); err != nil {
				t.Errorf("after the lock: %v", err)
			}
		})
		h.POST("/orders/:id", byID(l), func(_ context.Context, c *app.RequestContext) {
			if c.Param("id") == "13" {
				panic("13")
			}
			c.Status(http.StatusNoContent)
		})
	})
	for path, want := range map[string]int{"/orders/13": http.StatusInternalServerError, "/orders/42": http.StatusNoContent} {
		if a := mustPost(t, url+path, ""); a.code != want {
			t.Errorf("%s: %+v", path, a)
		}
	}
	if infos, err := admin.Inspect(t.Context(), l, "", 10); err != nil || len(infos) != 0 {
		t.Errorf("after the requests: %v, %v", infos, err)
	}
}

// TestLoss: the context of the handler ends when the lock is lost, and the client gets no
// success after that. An error of the handler is its own.
func TestLoss(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(*app.RequestContext)
		want   int
	}{
		"nothing":     {func(*app.RequestContext) {}, http.StatusFailedDependency},
		"a status":    {func(c *app.RequestContext) { c.Status(http.StatusNoContent) }, http.StatusFailedDependency},
		"a body":      {func(c *app.RequestContext) { c.JSON(http.StatusCreated, "paid") }, http.StatusFailedDependency},
		"a stream":    {func(c *app.RequestContext) { c.SetBodyStream(strings.NewReader("paid"), -1) }, http.StatusFailedDependency},
		"a hijack":    {func(c *app.RequestContext) { c.Hijack(func(network.Conn) { t.Error("hijacked") }) }, http.StatusFailedDependency},
		"an error":    {func(c *app.RequestContext) { c.String(http.StatusBadGateway, "in doubt") }, http.StatusBadGateway},
		"aborted":     {func(c *app.RequestContext) { c.AbortWithStatus(http.StatusBadGateway) }, http.StatusBadGateway},
		"chunks":      {chunk, http.StatusOK}, // too late
		"its own 424": {func(c *app.RequestContext) { c.String(http.StatusFailedDependency, "in doubt") }, http.StatusFailedDependency},
	} {
		l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
		url := serve(t, func(h *server.Hertz) {
			h.POST("/orders/:id", byID(l), func(ctx context.Context, g *app.RequestContext) {
				lease, _ := distlock.FromContext(ctx)
				if _, err := admin.ForceRelease(ctx, l, lease.Key()); err != nil {
					t.Error(err)
				}
				_ = lease.Refresh(ctx) // it notices
				<-ctx.Done()
				if err := context.Cause(ctx); !errors.Is(err, distlock.ErrLost) {
					t.Errorf("%s: the cause is %v", name, err)
				}
				g.Header("Etag", "paid")
				c.answer(g)
			})
		})
		a := mustPost(t, url+"/orders/42", "")
		replaced := c.want == http.StatusFailedDependency && name != "its own 424"
		if a.code != c.want || replaced != (a.problem.Type == httpmw.TypeLost) || replaced && (strings.Contains(a.body, "paid") || a.header.Get("Etag") != "") {
			t.Errorf("%s: %+v", name, a)
		}
		if want := map[string]string{"an error": "in doubt", "chunks": "paid", "its own 424": "in doubt"}[name]; !replaced && a.body != want {
			t.Errorf("%s: the body is %q, want %q", name, a.body, want)
		}
	}
}

// chunk begins the answer.
func chunk(c *app.RequestContext) {
	c.Response.HijackWriter(resp.NewChunkedBodyWriter(&c.Response, c.GetWriter()))
	_, _ = c.WriteString("paid")
	_ = c.Flush()
}

// TestPaths: a value is one lock in each of its spellings, and with each way of Hertz to find
// a route. A value that is empty is refused, and a route without the parameter is a mistake
// of the server.
func TestPaths(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]config.Option{
		"by default":  nil,
		"raw path":    {server.WithUseRawPath(true)},
		"not decoded": {server.WithUseRawPath(true), server.WithUnescapePathValues(false)},
	} {
		l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
		lock := hertzlock.Use(httpmw.Lock(l, httpmw.PathValue("name"), pay))
		url := serve(t, func(h *server.Hertz) {
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
			if a := mustPost(t, url+path, ""); err != nil || a.code != http.StatusOK || a.body != want {
				t.Errorf("%s: %s: %+v, want %s, %v", name, path, a, want, err)
			}
		}
		for path, want := range map[string]int{"/files/": http.StatusBadRequest, "/all": http.StatusInternalServerError} {
			if a := mustPost(t, url+path, ""); a.code != want || a.problem.Status != want {
				t.Errorf("%s: %s: %+v", name, path, a)
			}
		}
	}
}

// TestStreamBody: with WithStreamBody a key from the body has the handler find it in Body,
// and with another key it has its stream.
func TestStreamBody(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	url := serve(t, func(h *server.Hertz) {
		h.POST("/pay", hertzlock.Use(httpmw.Lock(l, httpmw.JSONField("id", 0), pay)), func(_ context.Context, c *app.RequestContext) {
			c.Data(http.StatusOK, "text/plain", c.Request.Body())
		})
		h.POST("/orders/:id", byID(l), func(_ context.Context, c *app.RequestContext) {
			text, err := io.ReadAll(c.RequestBodyStream())
			if err != nil {
				t.Error(err)
			}
			c.Data(http.StatusOK, "text/plain", text)
		})
	}, server.WithStreamBody(true))
	body := `{"id":42,"pad":"` + strings.Repeat("x", 100_000) + `"}`
	for _, path := range []string{"/pay", "/orders/42"} {
		if a := mustPost(t, url+path, body); a.code != http.StatusOK || a.body != body {
			t.Errorf("%s: %d, %d bytes", path, a.code, len(a.body))
		}
	}
	if a := mustPost(t, url+"/pay", ""); a.code != http.StatusBadRequest {
		t.Errorf("no body: %+v", a)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/pay", io.LimitReader(strings.NewReader(body), 1e6)) // chunks
	if err != nil {
		t.Fatal(err)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusBadRequest {
		t.Errorf("without a length: %v", got.Status)
	}
}

// TestClientLeaves: with WithSenseClientDisconnection a request whose client has left gives
// up its wait.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	store := testkit.NewStore()
	l := testkit.NewLocker(t, store, distlock.Config{})
	key, err := wiring.Key(distlock.Opts{Prefix: pay.Prefix, Value: pay.Value, ParamLock: true}, 42)
	if err != nil {
		t.Fatal(err)
	}
	held := testkit.MustAcquire(t, testkit.NewLocker(t, store.Memory(), distlock.Config{}), key, distlock.Opts{})
	returned := make(chan bool)
	url := serve(t, func(h *server.Hertz) {
		h.POST("/orders/:id", func(ctx context.Context, c *app.RequestContext) {
			c.Next(ctx)
			returned <- c.IsAborted()
		}, hertzlock.Use(httpmw.Lock(l, httpmw.Int(httpmw.PathValue("id")), distlock.Opts{Prefix: pay.Prefix, Value: pay.Value})), func(context.Context, *app.RequestContext) {
			t.Error("a handler runs without the lock")
		})
	}, server.WithSenseClientDisconnection(true))
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := post(ctx, url+"/orders/42", "")
		left <- err
	}()
	testkit.Eventually(t, "the request waits", func() bool { return len(store.Calls(testkit.Wait)) == 1 })
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

// Example locks a route of Hertz by its parameter.
func Example() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	h := server.New(server.WithListener(listener))
	lock := httpmw.Lock(locker, httpmw.Int(httpmw.PathValue("id")), distlock.Opts{Prefix: "shop:", Value: "pay", RetryCount: 1})
	h.POST("/orders/:id/pay", hertzlock.Use(lock), func(ctx context.Context, c *app.RequestContext) {
		lease, _ := distlock.FromContext(ctx)
		c.String(http.StatusOK, "paid with a lock: %t", lease.Check() == nil)
	})
	go func() { _ = h.Run() }()
	defer h.Close()
	a, err := post(context.Background(), "http://"+listener.Addr().String()+"/orders/42/pay", "")
	fmt.Println(a.code, a.body, err)
	// Output: 200 paid with a lock: true <nil>
}
