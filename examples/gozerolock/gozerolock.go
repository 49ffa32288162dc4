// Package gozerolock runs the handlers of go-zero's rest under locks of httpmw.
//
//	server.AddRoutes(rest.WithMiddleware(
//		gozerolock.Lock(locker, httpmw.Int(httpmw.PathValue("id")), distlock.Opts{
//			Prefix: "shop:", Value: "pay", MaxWait: time.Second,
//		}),
//		rest.Route{Method: http.MethodPost, Path: "/orders/:id/pay", Handler: pay},
//	))
//
// A server of zrpc needs no adapter, because it takes interceptors for gRPC. The rules
// are by method, or options in the .proto file; the same order in a path and in a
// message is one lock:
//
//	server.AddUnaryInterceptors(grpcmw.UnaryServerInterceptor(locker, rules.Unary()))
//	server.AddStreamInterceptors(grpcmw.StreamServerInterceptor(locker, rules.Streams()))
//
// # Errors
//
// The error of a request that does not get its lock is given to httpx.ErrorCtx, and so
// to the function of httpx.SetErrorHandlerCtx, which can use [distlock.CodeOf]. Further
// handlers are not called. Without such a function go-zero writes the status of grpcmw
// as text: 409, 429, 503 or 400. If nothing was done, the answer has Retry-After.
//
// The server's Timeout, three seconds by default, is also for the wait. When it has
// passed, go-zero answers 503 without Retry-After, although the handler may still run,
// with its lock. MaxWait should be shorter.
//
// # When the lock is lost
//
// The context of the request is cancelled, with cause [distlock.ErrLost]. The handler
// should call [distlock.Lease.Check] before it commits. A success that it begins to
// write after the loss is replaced by 424, as problem JSON. An error that it writes is
// its own: httpx.ErrorCtx makes 400 even of the error of the context, unless the
// function of SetErrorHandlerCtx looks at [context.Cause].
package gozerolock

import (
	"net/http"
	"strconv"
	"time"

	"github.com/zeromicro/go-zero/rest"
	"github.com/zeromicro/go-zero/rest/httpx"
	"github.com/zeromicro/go-zero/rest/pathvar"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/httpmw"
)

// Lock is httpmw.Lock for go-zero, with the same panics. httpmw.PathValue finds the
// path variables of the route.
func Lock(l *distlock.Locker, key httpmw.KeyFunc, o distlock.Opts, opts ...httpmw.Option) rest.Middleware {
	lock := httpmw.Lock(l, key, o, append([]httpmw.Option{httpmw.WithErrorHandler(refuse)}, opts...)...)
	return func(next http.HandlerFunc) http.HandlerFunc {
		locked := lock(next)
		return func(w http.ResponseWriter, r *http.Request) {
			for name, value := range pathvar.Vars(r) {
				r.SetPathValue(name, value)
			}
			locked.ServeHTTP(w, r)
		}
	}
}

// refuse is the [httpmw.ErrorHandler]: it leaves the answer to go-zero, which knows the
// status of an error for gRPC.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	if after := httpmw.ProblemOf(err).RetryAfter; after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((after+time.Second-1)/time.Second)))
	}
	httpx.ErrorCtx(r.Context(), w, grpcmw.StatusError(r.Context(), err))
}
