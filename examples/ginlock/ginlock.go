// Package ginlock mounts httpmw on routes of gin.
//
//	r.POST("/orders/:id/pay", ginlock.Use(httpmw.Lock(locker, httpmw.Int(httpmw.PathValue("id")), distlock.Opts{
//		Prefix: "shop:", Value: "pay", MaxWait: 3 * time.Second,
//	})), pay)
//
// # When the lock is lost
//
// The context of the request, c.Request.Context(), is cancelled, with cause
// [distlock.ErrLost]. The [gin.Context] itself ends with it if the engine has
// ContextWithFallback. The handler should call [distlock.Lease.Check] before it
// commits. A success or a 5xx that it begins to write after the loss is replaced by 424;
// a 4xx is its own.
//
// A request that does not get its lock is answered by httpmw: 409, 429, 503 or 400, as
// problem JSON. Further handlers are not called.
package ginlock

import (
	"bufio"
	"io"
	"net"
	"net/http"

	"github.com/gin-gonic/gin"
)

// Use makes a middleware for net/http, such as what httpmw.Lock returns, one for gin.
// The path's parameters are also the path values of the request, so httpmw.PathValue
// finds them. It belongs to a route, or to a group with the parameters in its path.
func Use(middleware func(http.Handler) http.Handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		before := c.Request
		defer func() { c.Request = before }()
		before.Pattern = c.FullPath()
		for _, p := range c.Params {
			before.SetPathValue(p.Key, p.Value)
		}
		ran := false
		middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ran = true
			own := c.Writer
			defer func() { c.Writer = own }()
			c.Request, c.Writer = r, &writer{own, w}
			c.Next()
		})).ServeHTTP(c.Writer, before)
		if !ran {
			c.Abort()
		}
	}
}

// writer is gin's writer, and what is sent passes through the writer of the middleware.
type writer struct {
	gin.ResponseWriter
	through http.ResponseWriter
}

// WriteHeaderNow sends the status, which gin keeps until then.
func (w *writer) WriteHeaderNow() {
	if !w.Written() {
		w.through.WriteHeader(w.Status())
		w.ResponseWriter.WriteHeaderNow()
	}
}

// Write implements [http.ResponseWriter].
func (w *writer) Write(p []byte) (int, error) {
	w.WriteHeaderNow()
	return w.through.Write(p)
}

// WriteString implements [io.StringWriter].
func (w *writer) WriteString(s string) (int, error) {
	w.WriteHeaderNow()
	return io.WriteString(w.through, s)
}

// Flush implements [http.Flusher].
func (w *writer) Flush() {
	w.WriteHeaderNow()
	_ = http.NewResponseController(w.through).Flush()
}

// Hijack implements [http.Hijacker].
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.through).Hijack()
}
