package grpcmw

import (
	"context"

	"google.golang.org/grpc"

	"github.com/distlock-go/distlock"
)

// UnaryServerInterceptor returns an interceptor that runs the handlers of methods with
// a rule under their locks. It panics with all errors if l is nil or a rule cannot
// work: its method does not exist or streams, its Key is nil or names an unknown field,
// its Opts are invalid. For services that are not linked into the program only the form
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
