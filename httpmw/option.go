package httpmw

import (
	"net/http"
	"strconv"
)

// Option is an option of [Lock].
type Option func(*middleware)

// ErrorHandler answers a request that did not get its lock. [WriteError] is the
// default. It may be called concurrently.
type ErrorHandler func(w http.ResponseWriter, r *http.Request, err error)

// WithErrorHandler replaces [WriteError], which answers requests that do not get their
// lock. f is called at most once for a request, and only if the handler does not run.
// It may call WriteError for some errors, or use [ProblemOf]. It writes the whole
// answer. The error names the key, so do not show it to clients.
//
// WithErrorHandler panics if f is nil.
func WithErrorHandler(f ErrorHandler) Option {
	if f == nil {
		panic("httpmw: WithErrorHandler: nil ErrorHandler")
	}
	return func(m *middleware) { m.fail = f }
}

// WithBodyFirst reads the request's body before the lock is taken, as [JSONField] does. So a
// client that sends the body slowly does not hold the lock, and one that leaves during the
// wait gives up its place in the queue. The handler can read the body again. A body of more
// than maxBytes is a [*distlock.KeyError].
//
// WithBodyFirst panics if maxBytes is not positive.
func WithBodyFirst(maxBytes int64) Option {
	mustBePositive("WithBodyFirst", maxBytes)
	return func(m *middleware) { m.maxBody = maxBytes }
}

func mustBePositive(name string, n int64) {
	if n <= 0 {
		panic("httpmw: " + name + ": the limit is not positive: " + strconv.FormatInt(n, 10))
	}
}
