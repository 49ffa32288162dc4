// Package ginlock mounts httpmw on routes of gin.
//
//	r.POST("/orders/:id/pay", ginlock.Use(httpmw.Lock(locker, httpmw.PathInt("id"), distlock.Opts{
//		Prefix: "shop:", Value: "pay", MaxWait: 3 * time.Second,
//	})), pay)
//
// # When a lock is needed
//
// If several servers handle requests, and two requests for one order must not overlap. A
// database that checks, with a constraint or in one transaction, needs no lock; the lock is
// for work that it cannot check, such as a call to another service.
//
// # When the lock is lost
//
// The context of the request, c.Request.Context(), is cancelled, with cause
// [distlock.ErrLost]. The [gin.Context] itself ends with it if the engine has
// ContextWithFallback. The handler should call [distlock.Lease.Check] before it commits, and
// decides about the response.
//
// The answers to requests that do not get their lock are those of httpmw: 409, 429, 503 or
// 400, as problem JSON; further handlers are not called. [httpmw.WithVerified] cannot be
// used, because gin's handlers write to a [gin.ResponseWriter] of its own.
package ginlock

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// Use returns a gin middleware of one for net/http, such as that of httpmw.Lock. The path's
// parameters are also the path values of the request, so httpmw.PathValue and PathInt find
// them. It belongs to a route, or to a group with the parameters in its path.
//
// It panics at the first request if the middleware replaces the [http.ResponseWriter].
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
			if w != http.ResponseWriter(c.Writer) {
				panic("ginlock: the middleware replaces the ResponseWriter, as httpmw.WithVerified does")
			}
			ran = true
			c.Request = r
			c.Next()
		})).ServeHTTP(c.Writer, before)
		if !ran {
			c.Abort()
		}
	}
}
