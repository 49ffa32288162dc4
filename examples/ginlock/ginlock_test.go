package ginlock_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/ginlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func init() { gin.SetMode(gin.ReleaseMode) }

var pay = distlock.Opts{Prefix: "shop:", Value: "pay", RetryCount: 1}

// post sends a request to r.
func post(r http.Handler, path string) (int, string) {
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, http.NoBody))
	return w.Code, w.Body.String()
}

// TestUse: while a request holds the lock of its order, another one for the same order gets
// 409 and does not run, and one for another order runs.
func TestUse(t *testing.T) {
	t.Parallel()
	r := gin.New()
	inside := func(*gin.Context) {}
	r.POST("/orders/:id/pay", ginlock.Use(httpmw.Lock(testkit.NewLocker(t, memlock.New(), distlock.Config{}), httpmw.Int(httpmw.PathValue("id")), pay)), func(c *gin.Context) {
		if _, ok := distlock.FromContext(c.Request.Context()); !ok {
			t.Error("the context of the request has no lease")
		}
		f := inside
		inside = func(*gin.Context) {}
		f(c)
		c.String(http.StatusOK, "paid %s", c.Param("id"))
	})
	inside = func(*gin.Context) {
		if code, body := post(r, "/orders/042/pay"); code != http.StatusConflict || !strings.Contains(body, "TypeBusy") {
			t.Errorf("the same order: %d %s", code, body)
		}
		if code, body := post(r, "/orders/43/pay"); code != http.StatusOK || body != "paid 43" {
			t.Errorf("another order: %d %s", code, body)
		}
	}
	if code, body := post(r, "/orders/42/pay"); code != http.StatusOK || body != "paid 42" {
		t.Errorf("%d %s", code, body)
	}
	if code, body := post(r, "/orders/x/pay"); code != http.StatusBadRequest {
		t.Errorf("an order that is not a number: %d %s", code, body)
	}
	if code, body := post(r, "/orders//pay"); code != http.StatusBadRequest {
		t.Errorf("no order: %d %s", code, body)
	}
}

// TestOthers: the handlers around the lock have the request with its own context, and a
// panic of the handler releases the lock.
func TestOthers(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	r := gin.New()
	r.Use(gin.CustomRecoveryWithWriter(io.Discard, func(c *gin.Context, _ any) { c.Status(http.StatusTeapot) }), func(c *gin.Context) {
		c.Next()
		if err := context.Cause(c.Request.Context()); err != nil {
			t.Errorf("after the lock: %v", err)
		}
	})
	r.POST("/orders/:id", ginlock.Use(httpmw.Lock(l, httpmw.Int(httpmw.PathValue("id")), pay)), func(c *gin.Context) {
		if c.Param("id") == "13" {
			panic("13")
		}
	})
	for path, want := range map[string]int{"/orders/13": http.StatusTeapot, "/orders/42": http.StatusOK} {
		if code, body := post(r, path); code != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if infos, err := admin.Inspect(t.Context(), l, "", 10); err != nil || len(infos) != 0 {
		t.Errorf("after the requests: %v, %v", infos, err)
	}
}

// TestLoss: the context of the request ends when the lock is lost, and the client gets no
// success after that. An error of the handler is its own.
func TestLoss(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(*gin.Context)
		want   int
	}{
		"nothing":  {func(*gin.Context) {}, http.StatusFailedDependency},
		"a status": {func(c *gin.Context) { c.Status(http.StatusNoContent) }, http.StatusFailedDependency},
		"a body":   {func(c *gin.Context) { c.JSON(http.StatusCreated, "paid") }, http.StatusFailedDependency},
		"a stream": {func(c *gin.Context) { c.Writer.Flush() }, http.StatusFailedDependency},
		"text":     {func(c *gin.Context) { _, _ = c.Writer.WriteString("paid") }, http.StatusFailedDependency},
		"an error": {func(c *gin.Context) { c.String(http.StatusBadGateway, "in doubt") }, http.StatusBadGateway},
		"aborted":  {func(c *gin.Context) { c.AbortWithStatus(http.StatusBadGateway) }, http.StatusBadGateway},
	} {
		l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
		r := gin.New()
		r.POST("/orders/:id", ginlock.Use(httpmw.Lock(l, httpmw.Int(httpmw.PathValue("id")), pay)), func(g *gin.Context) {
			ctx := g.Request.Context()
			lease, _ := distlock.FromContext(ctx)
			if _, err := admin.ForceRelease(ctx, l, lease.Key()); err != nil {
				t.Error(err)
			}
			_ = lease.Refresh(ctx) // it notices
			<-ctx.Done()
			c.answer(g)
		})
		if code, body := post(r, "/orders/42"); code != c.want || strings.Contains(body, "TypeLost") != (code == http.StatusFailedDependency) || strings.Contains(body, "paid") {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
}

// Example locks a route of gin by its parameter.
func Example() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	r := gin.New()
	lock := httpmw.Lock(locker, httpmw.Int(httpmw.PathValue("id")), distlock.Opts{Prefix: "shop:", Value: "pay", RetryCount: 1})
	r.POST("/orders/:id/pay", ginlock.Use(lock), func(c *gin.Context) {
		lease, _ := distlock.FromContext(c.Request.Context())
		c.String(http.StatusOK, "paid with a lock: %t", lease.Check() == nil)
	})
	fmt.Println(post(r, "/orders/42/pay"))
	// Output: 200 paid with a lock: true
}
