package grpcmw

import (
	"context"

	"google.golang.org/grpc"

	"github.com/distlock-go/distlock"
)

// UnaryServerInterceptor returns an interceptor that runs the handlers of methods with
// a rule under their locks. It panics if l is nil or a rule cannot work, and names all
// errors. The method may not exist or may stream, the Key may be nil or name an unknown
// field, the Opts may be invalid. For services that are not linked into the program only the form
// of the name can be checked.
func UnaryServerInterceptor(l *distlock.Locker, rules Rules) grpc.UnaryServerInterceptor {
	m := wire("UnaryServerInterceptor", l, rules, false)
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
