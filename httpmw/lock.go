package httpmw

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"sync"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/request"
	"github.com/distlock-go/distlock/wiring"
)

// Lock returns a middleware that runs handlers under the lock that key selects for the
// request. The package documentation says how requests without their lock are answered,
// and what happens if a lock is lost.
//
// All fields of o apply, except that ParamLock is always on and Params must be unset,
// because the KeyFunc selects the parameters. Lock panics if l or key is nil or o is
// invalid; see [distlock.Opts.Validate]. The middleware is safe for concurrent use. If
// it wraps several handlers, they share their locks.
func Lock(l *distlock.Locker, key KeyFunc, o distlock.Opts, opts ...Option) func(http.Handler) http.Handler {
	switch {
	case l == nil:
		panic("httpmw: Lock: nil Locker")
	case key == nil:
		panic("httpmw: Lock: nil KeyFunc")
	case !reflect.ValueOf(o.Params).IsZero():
		panic("httpmw: Lock: Opts.Params is set, but the KeyFunc selects the parameters")
	}
	o.ParamLock = true
	if err := o.Validate(); err != nil {
		panic("httpmw: Lock: " + err.Error())
	}
	m := &middleware{key: key, site: wiring.Bind(l, o), fail: WriteError}
	for _, opt := range opts {
		opt(m)
	}
	return func(next http.Handler) http.Handler {
		if next == nil {
			panic("httpmw: Lock: nil Handler")
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, next) })
	}
}

// middleware is the result of Lock.
type middleware struct {
	key  KeyFunc
	site *wiring.Site

	fail    ErrorHandler
	maxBody int64 // read before the lock is taken; 0: not read

	once sync.Once // logs a wiringError
}

func (m *middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	params, err := request.Params(m.key(r))
	if wrong := new(wiringError); errors.As(err, &wrong) {
		m.once.Do(func() { tell(r, err) }) // every request has the same mistake
	}
	if err == nil && params != distlock.Skip && m.maxBody > 0 {
		_, err = readBody(r, m.maxBody)
	}
	var out *response
	ran, err := request.Do(r.Context(), m.site, params, err, func(ctx context.Context) {
		if params == distlock.Skip {
			next.ServeHTTP(w, r.WithContext(ctx))
			return
		}
		lease, _ := distlock.FromContext(ctx)
		out = newResponse(w, lease)
		next.ServeHTTP(out, r.WithContext(ctx))
	})
	switch {
	case !ran:
		m.fail(w, r, err)
	case out != nil && !out.begun && errors.Is(err, distlock.ErrLost):
		out.replace(err)
	}
}
