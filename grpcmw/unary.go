package grpcmw

import (
	"context"

	"github.com/distlock-go/distlock"
	"google.golang.org/grpc"
)

// UnaryServerInterceptor returns an interceptor that runs the handlers of
// methods with a rule under their locks. It panics, with all that is wrong, if l
// is nil or a rule cannot work: its method does not exist or streams, its Key is
// nil or names a field that there is not, its Opts are invalid. Of services that
// are not linked into the program only the form of the name can be checked.
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

// UnaryClientInterceptor returns an interceptor that makes outgoing calls of
// methods with a rule under their locks. The call has the lease's context, so it
// ends when the lease is lost. It panics as [UnaryServerInterceptor] does.
//
// The errors of calls that did not get their lock have a status, as on a server,
// and match those of package distlock too. When the call ends with an error of
// the server's or of gRPC's own, that is returned as it is.
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
