package main

import (
	"bytes"
	"embed"
	"net/http"
	"time"
)

//go:embed assets
var assets embed.FS

// pageHeaders is a middleware for what a browser shows: it loads nothing from elsewhere,
// runs no inline scripts, and is not part of another page.
func pageHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

// getPage answers with the page.
func (a *httpAPI) getPage(w http.ResponseWriter, r *http.Request) { serveAsset(w, r, "index.html") }

// getAsset answers with a file that the page loads.
func (a *httpAPI) getAsset(w http.ResponseWriter, r *http.Request) {
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

// sameOrigin is a middleware that refuses requests that another site's page makes a
// browser send.
func (a *httpAPI) sameOrigin(next http.Handler) http.Handler {
	c := http.NewCrossOriginProtection()
	c.SetDenyHandler(crossOrigin)
	return c.Handler(next)
}

// play starts a demonstration.
func (a *httpAPI) play(w http.ResponseWriter, r *http.Request) {
	if err := a.demo.request(r.PathValue("name")); err != nil {
		a.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}
