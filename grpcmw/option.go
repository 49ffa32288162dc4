package grpcmw

import "context"

// Option is an option of an interceptor.
type Option func(*middleware)

// ErrorHandler returns the error of a call that did not get its lock. It may be called
// concurrently. ctx is the caller's.
type ErrorHandler func(ctx context.Context, fullMethod string, err error) error

// WithErrorHandler replaces [StatusError], which makes the errors of calls that do not
// get their lock. f is called at most once for a call, and only if the handler does not
// run. It may call StatusError for some errors. It should return an error with a
// status: gRPC sends the text of other errors to the client, and that of err names the
// key. If f returns nil, the error of StatusError is used.
//
// WithErrorHandler panics if f is nil.
func WithErrorHandler(f ErrorHandler) Option {
	if f == nil {
		panic("grpcmw: WithErrorHandler: nil ErrorHandler")
	}
	return func(m *middleware) { m.fail = f }
}

func defaultError(ctx context.Context, _ string, err error) error { return StatusError(ctx, err) }
