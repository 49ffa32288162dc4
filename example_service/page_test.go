package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/internal/backendurl"
)

// pageTest is a shop with its page, in a bubble.
type pageTest struct {
	*testing.T
	*page
	shop    *shop
	locker  *distlock.Locker
	handler http.Handler
	end     func() // of the page
}

// withPage runs f in a bubble.
func withPage(t *testing.T, f func(p *pageTest)) {
	t.Helper()
	db := filepath.Join(t.TempDir(), "shop.db")
	synctest.Test(t, func(t *testing.T) {
		cfg := config{backend: "sqlite::memory:", wait: time.Minute, think: time.Millisecond, bodyTimeout: time.Second}
		log, lock := slog.New(slog.DiscardHandler), itemLock(cfg)
		n, err := newLedger(lock)
		if err != nil {
			t.Fatal(err)
		}
		b := backendurl.Backend{Backend: memlock.New()}
		p := &pageTest{T: t, locker: distlock.New(b.Backend, distlock.Config{Hooks: n.hooks()})}
		defer p.locker.Close()
		p.shop = newShop(p.locker, lock, openTestStore(t, db), n, thinkFor(cfg.think))
		p.page = newPage(cfg, p.shop, p.locker, &b, log)
		p.end = p.start(t.Context())
		defer p.end()
		p.handler, err = (&httpAPI{shop: p.shop, page: p.page, monitor: newMonitor(log), log: log}).handler(p.locker, lock)
		if err != nil {
			t.Fatal(err)
		}
		f(p)
	})
}

// do sends a request with headers, given as "name: value".
func (p *pageTest) do(method, path string, headers ...string) answer {
	p.Helper()
	r := httptest.NewRequest(method, path, http.NoBody)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.Bytes()}
}

// reset starts a sale of the item of the page.
func (p *pageTest) reset(stock int) {
	p.Helper()
	if _, err := p.shop.reset(p.Context(), stockRequest{shown, stock}); err != nil {
		p.Fatal(err)
	}
}

// state returns the state that a new viewer gets.
func (p *pageTest) state() state {
	p.Helper()
	<-time.After(lookEvery) // the last state is old then
	v := p.watch()
	synctest.Wait()
	v.leave()
	if len(v.states) != 1 {
		p.Fatalf("%d states at once", len(v.states))
	}
	return v.states[0]
}

// viewer is a viewer of the page, and the [http.ResponseWriter] of its stream.
type viewer struct {
	*pageTest
	cancel context.CancelFunc
	ended  chan struct{}

	header http.Header

	mu       sync.Mutex // needed until the viewer has left
	states   []state
	at       []time.Time // when they came
	comments int
}

// watch opens the stream of the page.
func (p *pageTest) watch() *viewer {
	ctx, cancel := context.WithCancel(p.Context())
	v := &viewer{pageTest: p, cancel: cancel, ended: make(chan struct{}), header: http.Header{}}
	go func() {
		defer close(v.ended)
		p.handler.ServeHTTP(v, httptest.NewRequestWithContext(ctx, "GET", "/live", http.NoBody))
	}()
	return v
}

func (v *viewer) leave() {
	v.cancel()
	<-v.ended
}

func (v *viewer) Header() http.Header { return v.header }
func (v *viewer) WriteHeader(int)     {}
func (v *viewer) Flush()              {}

// Write gets a whole event or comment.
func (v *viewer) Write(b []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s, ok := decodeEvent(v.T, b); ok {
		v.states, v.at = append(v.states, s), append(v.at, time.Now())
	} else {
		v.comments++
	}
	return len(b), nil
}

// decodeEvent decodes a state; it is not ok if the event is a comment.
func decodeEvent(t *testing.T, b []byte) (s state, ok bool) {
	t.Helper()
	data, ok := bytes.CutPrefix(b, []byte("event: state\ndata: "))
	if !ok {
		if string(b) != ":\n\n" {
			t.Errorf("not an event: %q", b)
		}
		return s, false
	}
	if err := json.Unmarshal(data, &s); err != nil || !bytes.HasSuffix(data, []byte("\n\n")) || s.At.IsZero() {
		t.Errorf("%v in %q", err, data)
	}
	return s, true
}

// The page and its files come with headers that keep other sites out.
func TestPage(t *testing.T) {
	withPage(t, func(p *pageTest) {
		for _, path := range []string{"/", "/assets/index.html"} {
			a := p.do("GET", path)
			if a.status != http.StatusOK || !bytes.Contains(a.body, []byte("<title>")) || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
				p.Errorf("GET %s: %d %v", path, a.status, a.header)
			}
			if a.header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(a.header.Get("Content-Security-Policy"), "default-src 'self';") {
				p.Errorf("GET %s: %v", path, a.header)
			}
		}
		if a := p.do("GET", "/assets/none"); a.status != http.StatusNotFound {
			p.Errorf("%d %s", a.status, a.body)
		}
	})
}

// The page of the locks shows the locks of the shop and no others, and releases none.
func TestPageOfLocks(t *testing.T) {
	withPage(t, func(p *pageTest) {
		leases, err := p.locker.AcquireAll(p.Context(), []string{keyOf(p.T, shown), "other"}, distlock.Opts{})
		if err != nil {
			p.Fatal(err)
		}
		defer leases.Release(p.Context())
		a := p.do("GET", "/locks/", "Accept: application/json")
		if a.status != http.StatusOK || !bytes.Contains(a.body, []byte(keyOf(p.T, shown))) || bytes.Contains(a.body, []byte("other")) {
			p.Errorf("%d %s", a.status, a.body)
		}
		for path, status := range map[string]int{"/locks": http.StatusTemporaryRedirect, "/locks/lockui.js": http.StatusOK, "/locks/none": http.StatusNotFound} {
			if a := p.do("GET", path); a.status != status {
				p.Errorf("GET %s: %d", path, a.status)
			}
		}
		if a := p.do("POST", "/locks/release?key="+keyOf(p.T, shown)); a.status != http.StatusMethodNotAllowed {
			p.Errorf("%d %s", a.status, a.body)
		}
	})
}

func TestPageURL(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:80": "http://127.0.0.1:80/",
		"0.0.0.0:8080": "http://localhost:8080/",
		"[::]:8080":    "http://localhost:8080/",
		"[::1]:8080":   "http://[::1]:8080/",
	} {
		a, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := pageURL(a); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}
