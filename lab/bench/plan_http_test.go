package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/testmode"
)

// fakeHTTP serves a fakeShop over HTTP.
type fakeHTTP struct {
	*fakeShop

	url   string
	conns atomic.Int64 // number of connections
}

func serveHTTP(t *testing.T) *fakeHTTP {
	t.Helper()
	f := &fakeHTTP{fakeShop: newFakeShop()}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /items/{sku}", f.put)
	mux.HandleFunc("GET /items/{sku}", f.get)
	mux.HandleFunc("POST /items/{sku}/orders", func(w http.ResponseWriter, r *http.Request) { f.post(w, r, true) })
	mux.HandleFunc("POST /unlocked/items/{sku}/orders", func(w http.ResponseWriter, r *http.Request) { f.post(w, r, false) })
	s := httptest.NewUnstartedServer(mux)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			f.conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	f.url = s.URL
	return f
}

func (f *fakeHTTP) put(w http.ResponseWriter, r *http.Request) {
	var in struct{ Stock int64 }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f.reset(r.PathValue("sku"), in.Stock)
	f.get(w, r)
}

func (f *fakeHTTP) get(w http.ResponseWriter, r *http.Request) {
	i := f.item(r.PathValue("sku"))
	_, _ = fmt.Fprintf(w, `{"sku":%q,"stock":%d,"sold":%d}`, r.PathValue("sku"), i.stock.Load(), i.sold.Load())
}

func (f *fakeHTTP) post(w http.ResponseWriter, r *http.Request, locked bool) {
	var in struct {
		Buyer    string
		Quantity int
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Buyer == "" || in.Quantity != 1 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	left, ok := f.order(r.PathValue("sku"), locked)
	if !ok {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		_, _ = fmt.Fprint(w, `{"type":"about:blank","title":"sold_out","detail":"nothing, \"nil\", left"}`)
		return
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"order_id":1,"sku":%q,"remaining":%d,"token":1}`, r.PathValue("sku"), left)
}

func TestHTTPPlan(t *testing.T) {
	t.Parallel()
	shop := serveHTTP(t)
	dir := t.TempDir()
	jtl := filepath.Join(dir, "out.jtl")
	got := runArgs(t.Context(), "-plan", "http", "-target", shop.url+"/", "-users", "20", "-loops", "3", "-ramp-up", "0",
		"-think", "0", "-keys", "3", "-jtl", jtl)
	got.wantCode(t, 0)
	wantContains(t, got.stdout, "http lock: 60 of 60 increments\n")
	wantContains(t, got.stdout, " of 60 increments, ") // some are lost
	shop.wantSold(t, map[string]int64{"bench-1": 21, "bench-2": 21, "bench-3": 18})
	if n := shop.conns.Load(); n > 2*20 {
		t.Errorf("%d connections for 20 users, twice", n)
	}

	text, err := os.ReadFile(jtl)
	if err != nil {
		t.Fatal(err)
	}
	lines := parseJTL(t, string(text))
	if len(lines) != 120 {
		t.Fatalf("%d lines, want 120", len(lines))
	}
	for i, line := range lines {
		path, label := "/items/", "http lock"
		if i >= 60 {
			path, label = "/unlocked/items/", "http no lock"
		}
		if line["responseCode"] != "201" || line["responseMessage"] != "Created" || line["label"] != label ||
			!strings.HasPrefix(line["URL"], shop.url+path+"bench-") || line["bytes"] == "0" || line["sentBytes"] == "0" {
			t.Fatalf("line %d: %v", i+1, line)
		}
	}
}

func TestHTTPPlanLostInSpiteOfTheLock(t *testing.T) {
	t.Parallel()
	shop := serveHTTP(t)
	shop.leaky = true
	got := runArgs(t.Context(), "-plan", "http", "-target", shop.url, "-users", "20", "-loops", "3", "-ramp-up", "0", "-think", "0", "-lock", "on")
	got.wantCode(t, 1)
	wantContains(t, got.stderr, " increments lost in spite of the lock\n")
	wantContains(t, got.stdout, "http lock ")
}

func TestHTTPPlanRefused(t *testing.T) {
	t.Parallel()
	shop := serveHTTP(t)
	shop.refuse.Store(true)
	jtl := filepath.Join(t.TempDir(), "out.jtl")
	got := runArgs(t.Context(), "-plan", "http", "-target", shop.url, "-users", "2", "-loops", "2", "-ramp-up", "0", "-think", "0", "-jtl", jtl)
	got.wantCode(t, 1)
	if want := "bench: http lock: all samples failed, the first with: 409 Conflict: nothing, \"nil\", left\n"; got.stderr != want {
		t.Errorf("stderr %q, want %q", got.stderr, want)
	}
	wantContains(t, got.stdout, "100.00%")
	text, err := os.ReadFile(jtl)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range parseJTL(t, string(text)) {
		if line["responseCode"] != "409" || line["success"] != "false" || line["failureMessage"] != `409 Conflict: nothing, "nil", left` {
			t.Errorf("%v", line)
		}
	}
}

func TestUnreachable(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	for _, args := range [][]string{
		{"-plan", "http", "-target", "http://" + addr},
		{"-plan", "grpc", "-target", addr},
		{"-plan", "wrap", "-backend", "redis://" + addr},
		{"-plan", "wrap", "-backend", "zk://" + addr},
	} {
		got := runArgs(t.Context(), args...)
		got.wantCode(t, 1)
		wantContains(t, got.stderr, addr)
		if args[1] != "wrap" { // a Redis client may retry until its timeout
			wantContains(t, got.stderr, "connection refused")
		}
		if strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("want one line on stderr, got %q", got.stderr)
		}
		if got.stdout != "" {
			t.Errorf("stdout %q, want none", got.stdout)
		}
	}
}

// If the service dies between the run and the count, the counter is unknown.
func TestHTTPPlanServiceGone(t *testing.T) {
	t.Parallel()
	shop := newFakeShop()
	f := &fakeHTTP{fakeShop: shop}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /items/{sku}", f.put)
	mux.HandleFunc("POST /items/{sku}/orders", func(w http.ResponseWriter, r *http.Request) { f.post(w, r, true) })
	s := httptest.NewServer(mux)
	defer s.Close()
	got := runArgs(t.Context(), "-plan", "http", "-target", s.URL, "-users", "2", "-loops", "2", "-ramp-up", "0", "-think", "0")
	got.wantCode(t, 1)
	wantContains(t, got.stderr, "http lock: the counter cannot be read: GET /items/bench-1: 405 Method Not Allowed\n")
	wantContains(t, got.stdout, "http lock: unknown of 4 increments\n")
}

// Only the time of a user's first sample includes the connection.
func TestHTTPPlanTimes(t *testing.T) {
	t.Parallel()
	shop := serveHTTP(t)
	c := mustParse(t, "-plan", "http", "-target", shop.url, "-users", "1", "-loops", "2")
	p := newHTTPPlan(c, true)
	defer p.close()
	shop.reset("bench-1", 2)
	first, second := p.sample(t.Context(), 0), p.sample(t.Context(), 0)
	if first.err != nil || second.err != nil {
		t.Fatal(first.err, second.err)
	}
	if first.connect <= 0 || second.connect != 0 {
		t.Errorf("connect %v, then %v: want some, then none", first.connect, second.connect)
	}
	if first.latency <= first.connect || second.latency < time.Millisecond {
		t.Errorf("latency %v, then %v", first.latency, second.latency)
	}
}

func TestHTTPPlanNoAnswer(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer s.Close()
	c := mustParse(t, "-plan", "http", "-target", s.URL, "-users", "1")
	p := newHTTPPlan(c, true)
	defer p.close()
	r := p.sample(t.Context(), 0)
	if r.err == nil || !strings.HasPrefix(r.code, "Non HTTP response code: ") || !strings.HasPrefix(r.message, "Non HTTP response message: ") {
		t.Errorf("%+v", r)
	}
}
