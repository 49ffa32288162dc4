package grpcmw

import "context"

// Option changes what an interceptor does beyond taking the lock.
type Option func(*middleware)

// ErrorHandler makes the error with which a call ends that did not get its lock. It
// may be called concurrently. ctx is the caller's.
type ErrorHandler func(ctx context.Context, fullMethod string, err error) error

// WithErrorHandler sets what answers calls that do not get their lock. It is called
// at most once for a call, and only if the handler has not run and will not. It
// may leave some errors to [StatusError], which is the default. It should return
// an error with a status: gRPC sends the text of others to the client, and that
// of err names the key. If it returns nil, StatusError answers: a call that was
// not made is no success.
//
// WithErrorHandler panics if f is nil.
func WithErrorHandler(f ErrorHandler) Option {
	if f == nil {
		panic("grpcmw: WithErrorHandler: nil ErrorHandler")
	}
	return func(m *middleware) { m.fail = f }
}

func defaultError(ctx context.Context, _ string, err error) error { return StatusError(ctx, err) }

// WithVerified makes a success depend on the lock: if the lease was lost before the
// handler returned, the call ends with Unavailable and LOCK_LOST although the
// handler, or on a client the server, reported none. An error of theirs stays
// what it is. This answer does not go through the [ErrorHandler], because the
// handler has run. Of a stream only the end changes; messages that were sent are
// sent.
//
// The outcome is in doubt then. Take care with retry policies that repeat
// whatever is Unavailable.
func WithVerified() Option {
	return func(m *middleware) { m.verified = true }
}
