// Package echolock runs the handlers of Echo under locks of httpmw.
//
//	e.POST("/orders/:id/pay", pay, echolock.Lock(locker, httpmw.Int(httpmw.PathValue("id")), distlock.Opts{
//		Prefix: "shop:", Value: "pay", MaxWait: 3 * time.Second,
//	}))
//
// # Errors
//
// A request that does not get its lock is an [*echo.HTTPError] with the status of
// httpmw: 409, 429, 503 or 400. Further handlers are not called. Echo's
// HTTPErrorHandler answers, as to every error. The lock's error is inside, for logs;
// DefaultHTTPErrorHandler(true) shows it to clients.
//
// # When the lock is lost
//
// The context of the request, c.Request().Context(), is cancelled, with cause
// [distlock.ErrLost]. The handler should call [distlock.Lease.Check] before it commits.
// A success that it begins to write after the loss is replaced by 424, as problem JSON.
// So is a returned error that only says that the context has ended; any other error is
// its own.
package echolock

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v5"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
)

// Lock is httpmw.Lock for Echo, with the same panics. httpmw.PathValue finds the path
// values of the route. It belongs to routes: after Use it would also run for paths
// without a route.
func Lock(l *distlock.Locker, key httpmw.KeyFunc, o distlock.Opts, opts ...httpmw.Option) echo.MiddlewareFunc {
	lock := httpmw.Lock(l, key, o, append([]httpmw.Option{httpmw.WithErrorHandler(refuse)}, opts...)...)
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) (err error) {
			r, w := c.Request(), c.Response()
			defer func() { c.SetRequest(r); c.SetResponse(w) }()
			r.Pattern = c.Path()
			for _, p := range c.PathValues() {
				r.SetPathValue(p.Name, p.Value)
				r.Pattern = strings.Replace(r.Pattern, ":"+p.Name, "{"+p.Name+"}", 1) // as httpmw reads it
			}
			ctx := context.WithValue(r.Context(), result{}, &err)
			lock(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c.SetRequest(r)
				c.SetResponse(echo.NewResponse(w, c.Logger()))
				if err = next(c); err != nil && own(r.Context(), err) {
					c.Echo().HTTPErrorHandler(c, err) // before httpmw answers for it
				}
			})).ServeHTTP(w, r.WithContext(ctx))
			return err
		}
	}
}

// result is the key of the middleware's error in the context of a request.
type result struct{}

// refuse is the [httpmw.ErrorHandler]: it leaves the answer to Echo.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := httpmw.ProblemOf(err)
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((p.RetryAfter+time.Second-1)/time.Second)))
	}
	if p.Detail == "" {
		p.Detail = p.Title
	}
	*r.Context().Value(result{}).(*error) = echo.NewHTTPError(p.Status, p.Detail).Wrap(err)
}

// own reports whether the lock was lost and err, of the handler, says something else.
func own(ctx context.Context, err error) bool {
	lease, ok := distlock.FromContext(ctx)
	stopped := errors.Is(err, distlock.ErrLost) || errors.Is(err, context.Canceled)
	return ok && lease.Check() != nil && (!stopped || echo.StatusCode(err) != 0)
}
