package grpcmw

import (
	"context"

	"github.com/distlock-go/distlock"
	"google.golang.org/grpc"
)

// UnaryServerInterceptor returns an interceptor that runs the handlers of methods with
// a rule under their locks. It panics with all errors if l is nil or a rule cannot
// work: its method does not exist or streams, its Key is nil or names an unknown field,
// its Opts are invalid. For services that are not linked into the program only the form
// of the name can be checked.
func UnaryServerInterceptor(l *distlock.Locker, rules Rules, opts ...Option) grpc.UnaryServerInterceptor {
	m := wire("UnaryServerInterceptor", l, rules, unaryServer, opts)
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
		c := m.calls[info.FullMethod]
		if c == nil {
			return handler(ctx, req)
		}
		err = m.run(ctx, c, req, func(ctx context.Context) (err error) {
			resp, err = handler(ctx, req)
			return err
		})
		return resp, err
	}
}

// UnaryClientInterceptor returns an interceptor that makes outgoing calls of methods
// with a rule under their locks. The call has the context of the lease, so it ends when
// the lease is lost. It panics as [UnaryServerInterceptor] does.
//
// The error of a call that did not get its lock has a status, as on a server, and
// matches the errors of package distlock. The error of a call that was made is returned
// unchanged.
func UnaryClientInterceptor(l *distlock.Locker, rules Rules, opts ...Option) grpc.UnaryClientInterceptor {
	m := wire("UnaryClientInterceptor", l, rules, unaryClient, opts)
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, callOpts ...grpc.CallOption) error {
		c := m.calls[method]
		if c == nil {
			return invoker(ctx, method, req, reply, cc, callOpts...)
		}
		return m.run(ctx, c, req, func(ctx context.Context) error {
			return invoker(ctx, method, req, reply, cc, callOpts...)
		})
	}
}
