package lockui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"sync"
	"time"
)

//go:embed assets
var files embed.FS

// page is the asset that shows the locks, and a single key: its script reads the address.
const page = "index.html"

// contentTypes has the types of all assets: those of package mime depend on the machine.
var contentTypes = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// asset is an embedded file.
type asset struct {
	content     []byte
	contentType string
	etag        string
}

// assets returns the embedded files by name.
var assets = sync.OnceValue(func() map[string]asset {
	const dir = "assets"
	entries, err := files.ReadDir(dir)
	if err != nil {
		panic("lockui: " + err.Error()) // cannot happen with embedded files
	}
	all := make(map[string]asset, len(entries))
	for _, e := range entries {
		content, err := files.ReadFile(path.Join(dir, e.Name()))
		if err != nil {
			panic("lockui: " + err.Error()) // the same
		}
		digest := sha256.Sum256(content)
		all[e.Name()] = asset{content, contentTypes[path.Ext(e.Name())], `"` + hex.EncodeToString(digest[:8]) + `"`}
	}
	return all
})

// serve writes the file. Clients may keep it, but ask each time whether it has changed.
func (a asset) serve(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", a.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.content))
	return nil
}
