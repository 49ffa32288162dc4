// Package kratoslock runs the handlers of Kratos, over HTTP and gRPC, under locks of
// grpcmw.
//
//	lock := kratoslock.Use(grpcmw.UnaryServerInterceptor(locker, grpcmw.ByMethod(map[string]grpcmw.Rule{
//		shopv1.OperationShopPay: {
//			Key:  grpcmw.Fields("order_id"),
//			Opts: distlock.Opts{Prefix: "shop:", Value: "pay", MaxWait: 500 * time.Millisecond},
//		},
//	})))
//	http.NewServer(http.Middleware(recovery.Recovery(), lock))
//	grpc.NewServer(grpc.Middleware(recovery.Recovery(), lock))
//
// The rules are by operation, which is the method's full name with both transports, and
// options in .proto files do: grpcmw.FromOptions().Unary(). A path value needs no key
// of its own: the generated code has put it in its field of the message. Kratos calls
// no middleware for a stream: its interceptor comes from grpcmw.
//
// # Errors
//
// A call that does not get its lock has the error of grpcmw, which Kratos reads as one
// of its own, with code and reason. Further handlers are not called. Over HTTP the
// error has Retry-After if nothing was done.
//
//	400 LOCK_KEY          the message does not say what to lock
//	409 LOCK_BUSY         another call has the lock, and the wait ended
//	429 LOCK_QUEUE_FULL   too many calls are waiting
//	503 LOCK_UNAVAILABLE  the store of the locks failed
//	504 LOCK_BUSY         the server's Timeout, one second by default, ended the wait
//	424 LOCK_LOST         the lock was lost: the outcome is in doubt, so do not repeat the call
//
// Over gRPC a lost lock is FailedPrecondition, which Kratos' client reads as 400
// LOCK_LOST.
//
// # When the lock is lost
//
// The context of the handler is cancelled, with cause [distlock.ErrLost]. If the
// handler succeeds all the same, or returns the error of its context or of
// [distlock.Lease.Check], the client gets LOCK_LOST, because the outcome is in doubt.
// Other errors are the handler's own.
//
// # Timeouts
//
// The server's Timeout only ends the context: the lock stays until the handler has
// returned. A middleware that runs the handler in a goroutine and answers without it
// belongs in front of the lock: behind it, the work would have no lock.
package kratoslock

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/go-kratos/kratos/v2/errors"
	"github.com/go-kratos/kratos/v2/middleware"
	"github.com/go-kratos/kratos/v2/transport"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
)

// Use makes an interceptor for gRPC, such as what grpcmw.UnaryServerInterceptor
// returns, a middleware for servers. Both transports may have it, and then share its
// locks.
func Use(lock grpc.UnaryServerInterceptor) middleware.Middleware {
	return func(next middleware.Handler) middleware.Handler {
		return func(ctx context.Context, req any) (any, error) {
			tr, ok := transport.FromServerContext(ctx)
			if !ok {
				return nil, errors.InternalServer(grpcmw.ReasonInternal, "kratoslock: not in a server")
			}
			ran := false
			reply, err := lock(ctx, req, &grpc.UnaryServerInfo{FullMethod: tr.Operation()}, func(ctx context.Context, req any) (any, error) {
				ran = true
				return next(ctx, req)
			})
			switch {
			case err == nil || tr.Kind() != transport.KindHTTP:
				return reply, err
			case errors.Reason(err) == grpcmw.ReasonLost && errors.Is(err, distlock.ErrLost):
				return nil, errors.New(http.StatusFailedDependency, grpcmw.ReasonLost, errors.FromError(err).Message).WithCause(err)
			case !ran:
				retryAfter(tr, err)
			}
			return nil, err
		}
	}
}

// retryAfter sets the header from the RetryInfo of a refusal.
func retryAfter(tr transport.Transporter, err error) {
	for _, detail := range status.Convert(err).Details() {
		if d, ok := detail.(*errdetails.RetryInfo); ok {
			seconds := (d.GetRetryDelay().AsDuration() + time.Second - 1) / time.Second
			tr.ReplyHeader().Set("Retry-After", strconv.Itoa(int(seconds)))
		}
	}
}
