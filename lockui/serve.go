package lockui

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/distlock-go/distlock"
)

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
	entries, _ := files.ReadDir("assets") // it cannot fail with embedded files
	for _, e := range entries {
		h.routes["/"+e.Name()] = route{"GET, HEAD", serveAsset(e.Name())}
	}
	if h.authorize != nil {
		h.routes["/release"] = route{"POST", h.release}
	}
	return h
}

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
	if slices.Contains(strings.Split(found.allow, ", "), r.Method) {
		return found.serve(w, r)
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
