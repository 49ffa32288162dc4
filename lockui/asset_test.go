package lockui_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

func TestAssets(t *testing.T) {
	types := map[string]string{
		".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	entries, err := os.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	bubble(t, func(s *site) {
		for _, e := range entries {
			content, err := os.ReadFile(filepath.Join("assets", e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			got := s.get("/" + e.Name())
			if got.status != http.StatusOK || got.body != string(content) || got.header.Get("Content-Type") != types[filepath.Ext(e.Name())] {
				t.Errorf("%s: %d %v", e.Name(), got.status, got.header)
			}
		}
		page := s.get("/index.html").body
		for _, path := range []string{"/", "/?prefix=a", "/key?name=a"} {
			if got := s.get(path, "Accept", "text/html"); got.body != page {
				t.Errorf("%s is not the page", path)
			}
		}
	})
}
