package httpmw

import (
	"net/http"
	"strconv"
)

// Option changes what [Lock] does beyond taking the lock.
type Option func(*middleware)

// ErrorHandler answers a request that did not get its lock. [WriteError] is
// one, and says which errors there are. It may be called concurrently.
type ErrorHandler func(w http.ResponseWriter, r *http.Request, err error)

// WithErrorHandler sets what answers requests that do not get their lock. It is
// called at most once for a request, and only if the handler has not run and
// will not. It may leave some errors to [WriteError], which is the default, or
// take its bearings from [ProblemOf]. What it writes is all that the client
// gets: err names the key, so do not show it to clients.
//
// WithErrorHandler panics if f is nil.
func WithErrorHandler(f ErrorHandler) Option {
	if f == nil {
		panic("httpmw: WithErrorHandler: nil ErrorHandler")
	}
	return func(m *middleware) { m.fail = f }
}

// WithBodyFirst has the request's body read before the lock is taken, so that a
// client that sends it slowly holds nothing up, and so that net/http notices if
// the client leaves while it waits. The handler finds the body as it was. A
// body of more than maxBytes is a [*distlock.KeyError]. The default is not to touch the
// body, except for [JSONField].
//
// WithBodyFirst panics if maxBytes is not positive.
func WithBodyFirst(maxBytes int64) Option {
	mustBePositive("WithBodyFirst", maxBytes)
	return func(m *middleware) { m.maxBody = maxBytes }
}

// WithVerified holds the response back until the handler has returned and the lock
// was given back. If the lease was lost by then, whatever the handler answered
// is dropped and the client gets a problem with status 503 and [TypeLost]: the
// handler believed that it was alone, and was not. This answer does not go
// through the ErrorHandler, because the handler has run.
//
// The response, without its headers, may have maxBytes. Beyond that the
// handler's Write fails, and the answer is a problem with status 500: no part
// of a response is ever sent that was not verified. The handler cannot flush or
// hijack; [http.ResponseController] says [http.ErrNotSupported]. Informational
// responses (1xx) are dropped, trailers work. Sending the response does not hold
// the lock.
//
// The default is to pass the [http.ResponseWriter] through untouched. WithVerified
// panics if maxBytes is not positive.
func WithVerified(maxBytes int) Option {
	mustBePositive("WithVerified", int64(maxBytes))
	return func(m *middleware) { m.maxResponse = maxBytes }
}

func mustBePositive(name string, n int64) {
	if n <= 0 {
		panic("httpmw: " + name + ": the limit is not positive: " + strconv.FormatInt(n, 10))
	}
}
