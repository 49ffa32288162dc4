package httpmw

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/request"
	"github.com/distlock-go/distlock/wiring"
)

// Lock returns a middleware that runs handlers under the lock that key selects for the
// request. The package documentation says how requests without their lock are answered,
// and what happens if a lock is lost.
//
// All fields of o apply, except that ParamLock and Params must be unset, because the KeyFunc
// selects the parameters. Lock panics if l or key is nil or o is
// invalid; see [distlock.Opts.Validate]. The middleware is safe for concurrent use. If
// it wraps several handlers, they share their locks.
//
// The middleware panics if the handler is one of [http.TimeoutHandler]: the timeout belongs
// around the lock. It panics in HTTPMiddleware of Fiber, which runs handlers without the lock.
func Lock(l *distlock.Locker, key KeyFunc, o distlock.Opts, opts ...Option) func(http.Handler) http.Handler {
	switch {
	case l == nil:
		panic("httpmw: Lock: nil Locker")
	case key == nil:
		panic("httpmw: Lock: nil KeyFunc")
	case o.ParamLock || !reflect.ValueOf(o.Params).IsZero():
		panic("httpmw: Lock: Opts.Params or Opts.ParamLock is set, but the KeyFunc selects the parameters")
	}
	o.ParamLock = true
	if err := o.Validate(); err != nil {
		panic("httpmw: Lock: " + err.Error())
	}
	m := &middleware{key: key, site: wiring.Bind(l, o)}
	m.fail = func(w http.ResponseWriter, r *http.Request, err error) { ProblemOf(err).ServeHTTP(w, r) }
	for _, opt := range opts {
		opt(m)
	}
	return func(next http.Handler) http.Handler {
		if next == nil {
			panic("httpmw: Lock: nil Handler")
		}
		if reflect.TypeOf(next).String() == "*http.timeoutHandler" {
			panic("httpmw: Lock: http.TimeoutHandler returns before its handler, and the lock ends: write http.TimeoutHandler(lock(handler), ...)")
		}
		if v := reflect.ValueOf(next); v.Kind() == reflect.Func && !v.IsNil() { // by its file, because inlining changes its name
			if file, _ := runtime.FuncForPC(v.Pointer()).FileLine(v.Pointer()); strings.HasSuffix(file, "/middleware/adaptor/adaptor.go") {
				panic("httpmw: Lock: HTTPMiddleware of Fiber runs the handler after the lock has ended: call locker.Do in the handler")
			}
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			pass(r.Context(), r, func(r *http.Request) { m.serve(w, r, next) })
		})
	}
}

// middleware is the result of Lock.
type middleware struct {
	key  KeyFunc
	site *wiring.Site

	fail    ErrorHandler
	maxBody int64 // read before the lock is taken; 0: not read
	door    request.Door

	once sync.Once // logs a wiringError
}

func (m *middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	call := m.door.Enter(func() {
		tell(r, fmt.Errorf("httpmw: pattern %q: work goes on after the handler has returned and the lock has ended; "+
			"a timeout belongs around the lock, and a goroutine that is left needs distlock.Detach and a lock of its own", r.Pattern))
	})
	defer call.Done()
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &counted{r.Body, call}
	}
	params, err := request.Params(m.key(r))
	if wrong := new(wiringError); errors.As(err, &wrong) {
		m.once.Do(func() { tell(r, err) }) // every request has the same mistake
	}
	if err == nil && params != distlock.Skip && m.maxBody > 0 {
		_, err = readBody(r, m.maxBody)
	}
	var out *response
	ran, err := call.Do(r.Context(), m.site, params, err, func(ctx context.Context) {
		through := w
		if params != distlock.Skip {
			lease, _ := distlock.FromContext(ctx)
			out = &response{ResponseWriter: w, lease: lease, before: w.Header().Clone(), call: call}
			through = out
			defer interrupt(ctx, w)()
		}
		pass(ctx, r, func(r *http.Request) {
			if r.Body != nil && r.Body != http.NoBody {
				r.Body = &interruptible{r.Body, ctx}
			}
			next.ServeHTTP(through, r)
		})
	})
	switch {
	case !ran:
		m.fail(w, r, err)
	case out != nil && !out.begun && errors.Is(err, distlock.ErrLost):
		out.replace(err)
	}
}

// Option is an option of [Lock].
type Option func(*middleware)

// ErrorHandler answers a request that did not get its lock. The default writes what [ProblemOf]
// returns. It may be called concurrently.
type ErrorHandler func(w http.ResponseWriter, r *http.Request, err error)

// WithErrorHandler replaces the answer to requests that do not get their lock. f is called
// at most once for a request, and only if the handler does not run. It may use [ProblemOf]. It
// writes the whole answer. The error names the key, so do not show it to clients.
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
// than maxBytes is a [*distlock.KeyError]. The bodies that wait have the limit of JSONField.
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
