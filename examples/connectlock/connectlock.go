// Package connectlock runs the handlers of connect-go under locks of grpcmw.
//
//	lock := connectlock.Use(grpcmw.UnaryServerInterceptor(locker, grpcmw.ByMethod(map[string]grpcmw.Rule{
//		shopv1connect.ShopPayProcedure: {
//			Key:  grpcmw.Fields("order_id"),
//			Opts: distlock.Opts{Prefix: "shop:", Value: "pay", MaxWait: 3 * time.Second},
//		},
//	})))
//	path, handler := shopv1connect.NewShopHandler(shop, connect.WithInterceptors(lock))
//
// The rules may also be options in .proto files: grpcmw.FromOptions().Unary(). The same
// order in a path and in a message is one lock with httpmw, grpcmw and this package, if
// Prefix and Value are the same. A procedure that streams cannot have a rule, because
// its messages are not known yet: grpcmw.UnaryServerInterceptor panics.
//
// # Errors
//
// A call that does not get its lock has the code that grpcmw answers with, with the
// same details: ErrorInfo with the reason, and RetryInfo if nothing was done.
//
// # When the lock is lost
//
// The context of the handler is cancelled, with cause [distlock.ErrLost]. If the
// handler succeeds all the same, or returns the error of its context or of
// [distlock.Lease.Check], the client gets FailedPrecondition, because the outcome is in
// doubt.
package connectlock

import (
	"context"
	"errors"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Use makes an interceptor for gRPC, such as what grpcmw.UnaryServerInterceptor
// returns, one for handlers of connect. Clients and procedures that stream are not
// locked.
func Use(lock grpc.UnaryServerInterceptor) connect.Interceptor {
	return connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (resp connect.AnyResponse, _ error) {
			if req.Spec().IsClient {
				return next(ctx, req)
			}
			info := &grpc.UnaryServerInfo{FullMethod: req.Spec().Procedure}
			_, err := lock(ctx, req.Any(), info, func(ctx context.Context, _ any) (_ any, err error) {
				resp, err = next(ctx, req)
				if code := new(connect.Error); errors.As(err, &code) {
					err = ownError{err, code}
				}
				return resp, err
			})
			if err != nil {
				return nil, answer(err)
			}
			return resp, nil
		}
	})
}

// ownError is an error with a code of the handler's own. The interceptor sees its
// status.
type ownError struct {
	error

	code *connect.Error
}

// GRPCStatus returns the status for package status.
func (e ownError) GRPCStatus() *status.Status {
	return status.New(codes.Code(e.code.Code()), e.code.Message())
}

// Unwrap returns the handler's error.
func (e ownError) Unwrap() error { return e.error }

// answer returns the error for the client. One with a code of connect, of a Key or of
// the handler, and one without any status are returned unchanged.
func answer(err error) error {
	s, refused := status.FromError(err)
	if own := (ownError{}); errors.As(err, &own) {
		return own.error
	}
	if !refused || errors.As(err, new(*connect.Error)) {
		return err
	}
	e := connect.NewError(connect.Code(s.Code()), lockError{err, s.Message()})
	for _, detail := range s.Proto().GetDetails() {
		if d, err := connect.NewErrorDetail(detail); err == nil {
			e.AddDetail(d)
		}
	}
	return e
}

// lockError is an error of a lock, with the text for clients, without keys and servers.
type lockError struct {
	error

	text string
}

// Error returns the text for clients.
func (e lockError) Error() string { return e.text }

// Unwrap returns the error of the lock.
func (e lockError) Unwrap() error { return e.error }
