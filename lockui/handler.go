package lockui

import (
	"fmt"
	"net/http"
	"strings"
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

var _ http.Handler = (*Handler)(nil)

// route is what the Handler does at one path.
type route struct {
	allow string // the methods, as in the header Allow
	serve func(w http.ResponseWriter, r *http.Request) error
}

// New returns a Handler for the store of l. It panics if l is nil.
func New(l *distlock.Locker, opts ...Option) *Handler {
	if l == nil {
		panic("lockui: New: nil Locker")
	}
	h := &Handler{locker: l, scanning: make(chan struct{}, 1), watches: make(map[string]*watch), closed: make(chan struct{})}
	h.close = sync.OnceFunc(func() { close(h.closed) })
	for _, opt := range opts {
		opt(h)
	}
	h.routes = map[string]route{
		"/":       {"GET, HEAD", h.list},
		"/key":    {"GET, HEAD", h.key},
		"/events": {"GET", h.events},
	}
	entries, err := files.ReadDir("assets")
	if err != nil {
		panic("lockui: " + err.Error()) // cannot happen with embedded files
	}
	for _, e := range entries {
		h.routes["/"+e.Name()] = route{"GET, HEAD", serveAsset(e.Name())}
	}
	if h.authorize != nil {
		h.routes["/release"] = route{"POST", h.release}
	}
	return h
}

// Close ends the event streams, and refuses new ones. The other paths go on.
func (h *Handler) Close() { h.close() }

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin") // no-referrer would also remove the origin from posts
	header.Set("Cache-Control", "no-store")
	if err := h.route(w, r); err != nil {
		writeProblem(w, err)
	}
}

func (h *Handler) route(w http.ResponseWriter, r *http.Request) error {
	path := r.URL.Path
	if asked, query, _ := strings.Cut(r.RequestURI, "?"); path == "" && asked != "" && !strings.HasSuffix(asked, "/") {
		addSlash(w, asked, query)
		return nil
	}
	found, ok := h.routes["/"+strings.TrimPrefix(path, "/")]
	if !ok {
		return &problem{http.StatusNotFound, "there is nothing at this path"}
	}
	for method := range strings.SplitSeq(found.allow, ", ") {
		if r.Method == method {
			return found.serve(w, r)
		}
	}
	w.Header().Set("Allow", found.allow)
	return &problem{http.StatusMethodNotAllowed, "this path allows " + found.allow}
}

// addSlash redirects from the path asked, at which the Handler is mounted, to the page,
// so that relative URLs work. The location is relative too: a proxy may have changed the
// path.
func addSlash(w http.ResponseWriter, asked, query string) {
	location := "./" + asked[strings.LastIndexByte(asked, '/')+1:] + "/"
	if query != "" {
		location += "?" + query
	}
	w.Header().Set("Location", location)
	w.WriteHeader(http.StatusTemporaryRedirect)
}

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
