package main

import (
	"bytes"
	"context"
	"embed"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/backendurl"
	"github.com/distlock-go/distlock/lockui"
)

//go:embed assets
var assets embed.FS

// page is what a browser shows: the state of the sale, the demonstrations, and the
// locks.
type page struct {
	live  *live
	demo  *demo
	locks *lockui.Handler
}

func newPage(cfg config, sh *shop, l *distlock.Locker, b *backendurl.Backend, log *slog.Logger) *page {
	d := newDemo(cfg, sh, l, b, log)
	return &page{live: newLive(sh, d), demo: d, locks: lockui.New(l, lockui.WithPrefix(itemLock(cfg).Prefix))}
}

// start starts the page. The returned function ends its demonstration, and its streams,
// for which the server would wait.
func (p *page) start(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	wait := p.demo.start(ctx)
	return sync.OnceFunc(func() {
		cancel()
		close(p.live.ended)
		p.locks.Close()
		wait()
	})
}

// getIndex answers with the page itself.
func (p *page) getIndex(w http.ResponseWriter, r *http.Request) { serveAsset(w, r, "index.html") }

// getAsset answers with a file that the page loads.
func (p *page) getAsset(w http.ResponseWriter, r *http.Request) {
	serveAsset(w, r, r.PathValue("file"))
}

func serveAsset(w http.ResponseWriter, r *http.Request, name string) {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		notFound.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Cache-Control", "no-cache") // the next version of the program may have other files
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(b))
}

// getLive answers with the state of the sale as a stream.
func (p *page) getLive(w http.ResponseWriter, r *http.Request) { p.live.ServeHTTP(w, r) }

// getLocks answers with the locks of the shop, without a way to release them.
func (p *page) getLocks(w http.ResponseWriter, r *http.Request) {
	http.StripPrefix("/locks", p.locks).ServeHTTP(w, r)
}

// postDemo starts a demonstration.
func (a *httpAPI) postDemo(w http.ResponseWriter, r *http.Request) {
	if err := a.page.demo.request(r.PathValue("name")); err != nil {
		a.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// pageHeaders is a middleware for what a browser shows: it loads nothing from elsewhere,
// runs no inline scripts, and is not part of another page.
func pageHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // no-referrer would also remove the origin from posts
		next.ServeHTTP(w, r)
	})
}

// sameOrigin is a middleware that refuses requests that a page of another site makes a
// browser send.
func sameOrigin(next http.Handler) http.Handler {
	c := http.NewCrossOriginProtection()
	c.SetDenyHandler(crossOrigin)
	return c.Handler(next)
}
