package lockui_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-chi/chi/v5"

	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/lockui"
)

func TestMethods(t *testing.T) {
	bubble(t, func(s *site) {
		for path, allow := range map[string]string{
			"/": "GET, HEAD", "/key?name=a": "GET, HEAD", "/events": "GET", "/index.html": "GET, HEAD", "/release": "POST",
		} {
			for _, method := range []string{"GET", "POST", "DELETE"} {
				if strings.Contains(allow, method) {
					continue
				}
				got := s.send(method, path, "")
				s.wantProblem(got, http.StatusMethodNotAllowed, "this path allows "+allow)
				if got.header.Get("Allow") != allow {
					t.Errorf("%s %s: Allow %q", method, path, got.header.Get("Allow"))
				}
			}
		}
		for _, path := range []string{"/", "/key?name=a", "/index.html"} {
			if got := s.send("HEAD", path, ""); got.status != http.StatusOK || got.body != "" {
				t.Errorf("HEAD %s: %d %q", path, got.status, got.body)
			}
		}
	}, lockui.WithForceRelease(anyone))
}

func TestHeaders(t *testing.T) {
	bubble(t, func(s *site) {
		for path, cache := range map[string]string{
			"/": "no-store", "/key?name=a": "no-store", "/no": "no-store", "/events": "no-store", "/index.html": "no-cache",
		} {
			resp := s.open("GET", path, "")
			_ = resp.Body.Close()
			for name, want := range map[string]string{
				"Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
				"X-Content-Type-Options":  "nosniff",
				"Referrer-Policy":         "same-origin",
				"Cache-Control":           cache,
			} {
				if got := resp.Header.Get(name); got != want {
					t.Errorf("%s: %s is %q", path, name, got)
				}
			}
		}
	})
}

// TestAccept: a browser gets the page, a program that asks for it JSON.
func TestAccept(t *testing.T) {
	bubble(t, func(s *site) {
		for accept, json := range map[string]bool{
			"": false, "*/*": false, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": false,
			"application/json": true, "Application/JSON; charset=utf-8": true, "application/json, text/plain, */*": true,
		} {
			for _, path := range []string{"/", "/key?name=a"} {
				got := s.get(path, "Accept", accept)
				want := "text/html; charset=utf-8"
				if json {
					want = "application/json"
				}
				if got.status != http.StatusOK || got.header.Get("Content-Type") != want || got.header.Get("Vary") != "Accept" {
					t.Errorf("Accept %q: %d %v", accept, got.status, got.header)
				}
			}
		}
	})
}

// TestMounts mounts the Handler in several ways; a browser then finds the page and its
// relative URLs.
func TestMounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ui := lockui.New(newLocker(t, testkit.NewStore()))
		routed := http.NewServeMux()
		routed.Handle("/admin/locks/", http.StripPrefix("/admin/locks", ui))
		mounted := chi.NewRouter()
		mounted.Mount("/admin/locks", http.StripPrefix("/admin/locks", ui))
		for name, h := range map[string]http.Handler{"ServeMux": routed, "chi": mounted} {
			for path, want := range map[string]int{"/admin/locks?prefix=a%20b": http.StatusTemporaryRedirect, "/admin/locks/": http.StatusOK, "/admin/locks/no": http.StatusNotFound} {
				w := httptest.NewRecorder()
				r := httptest.NewRequest("GET", path, nil)
				h.ServeHTTP(w, r)
				to, err := r.URL.Parse(w.Header().Get("Location"))
				if w.Code != want || err != nil || want == http.StatusTemporaryRedirect && to.RequestURI() != "/admin/locks/?prefix=a%20b" {
					t.Errorf("%s: %s: %d, Location %v, %v", name, path, w.Code, to, err)
				}
			}
		}
		// A path that looks like another host stays on this one.
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.Path, r.RequestURI = "", "//evil.example"
		ui.ServeHTTP(w, r)
		if got := w.Header().Get("Location"); got != "./evil.example/" {
			t.Errorf("Location %q", got)
		}
	})
}

func TestPanics(t *testing.T) {
	for want, f := range map[string]func(){
		"lockui: New: nil Locker":                                  func() { lockui.New(nil) },
		"lockui: WithPrefix: the prefix is empty":                  func() { lockui.WithPrefix("") },
		`lockui: WithPrefix: the prefix "\xff" is not valid UTF-8`: func() { lockui.WithPrefix("\xff") },
		"lockui: WithForceRelease: nil function":                   func() { lockui.WithForceRelease(nil) },
	} {
		testkit.WantPanic(t, want, f)
	}
}

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
