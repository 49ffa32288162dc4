package lockui

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/distlock-go/distlock"
)

// Handler shows the locks of a store. It is safe for concurrent use. Make one with [New].
type Handler struct {
	locker    *distlock.Locker
	prefix    string                                  // of all keys that it shows and releases
	authorize func(r *http.Request, key string) error // nil: nothing is released

	routes  map[string]route
	origins http.CrossOriginProtection

	scanning chan struct{} // one element while the store is asked
	rest     time.Time     // until then it is left alone; guarded by scanning

	mu      sync.Mutex
	watches map[string]*watch // by prefix
	closed  chan struct{}
	close   func()
}

// watch asks the store for the locks of one prefix while clients look at them. The
// mutex of the Handler guards it.
type watch struct {
	prefix  string
	clients int
	stop    context.CancelFunc

	state   state
	changed chan struct{} // closed when state has changed
}

// state is what a watch knows.
type state struct {
	known bool
	locks []byte // encoded, without the time
	err   error  // the store did not answer; then locks is nil
}

// route is what the Handler does at one path.
type route struct {
	allow string // the methods, as in the header Allow
	serve func(w http.ResponseWriter, r *http.Request) error
}

// Close ends the event streams, and refuses new ones. The other paths go on.
func (h *Handler) Close() { h.close() }

// maxKeys is how many keys are shown. The page says if there are more.
const maxKeys = 1000

// Option is an option of [New].
type Option func(*Handler)

// WithPrefix limits the Handler to full keys with this prefix: it neither shows nor
// releases others. The default is all keys of the store.
//
// WithPrefix panics if the prefix is empty or not valid UTF-8.
func WithPrefix(prefix string) Option {
	switch {
	case prefix == "": // a variable that was not set must not show all keys
		panic("lockui: WithPrefix: the prefix is empty")
	case !utf8.ValidString(prefix):
		panic(fmt.Sprintf("lockui: WithPrefix: the prefix %q is not valid UTF-8", prefix))
	}
	return func(h *Handler) { h.prefix = prefix }
}

// WithForceRelease lets requests take a key away from its holders, as
// [github.com/distlock-go/distlock/admin.ForceRelease] does. The function authorize
// decides about each request: if it returns nil, the key is released; otherwise the answer
// is 403, without the error. It is also the place for an audit log. It gets the full
// key, and must not read the body of the request. It may be called concurrently.
//
// Before it is called, requests that a browser sends from another origin are refused, and
// so are keys outside of [WithPrefix]. A proxy must pass on the header Host as it is,
// because the origin is compared with it. The default is that no request may release a key.
//
// WithForceRelease panics if authorize is nil.
func WithForceRelease(authorize func(r *http.Request, key string) error) Option {
	if authorize == nil {
		panic("lockui: WithForceRelease: nil function")
	}
	return func(h *Handler) { h.authorize = authorize }
}
