package lockui

import (
	"bytes"
	"embed"
	"net/http"
	"path"
	"time"
)

//go:embed assets
var files embed.FS

// servePage serves the page that shows the locks, and a single key: its script reads the
// address.
var servePage = serveAsset("index.html")

// contentTypes has the types of all assets: the types of package mime depend on the machine.
var contentTypes = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// serveAsset returns the handler of an embedded file. Clients ask each time for it.
func serveAsset(name string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		content, err := files.ReadFile("assets/" + name)
		if err != nil {
			return err // cannot happen with embedded files
		}
		w.Header().Set("Content-Type", contentTypes[path.Ext(name)])
		w.Header().Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		return nil
	}
}
