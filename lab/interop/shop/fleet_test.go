package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/lab/interop/internal/java"
)

// fleet is the Spring side in a JVM, the Go side in this process, the front of both, and
// the Redis that both use.
type fleet struct {
	rdb    *redis.Client
	jvm    *testkit.Process
	spring *url.URL
	shop   *shop
	front  *httptest.Server
}

func startFleet(t *testing.T) *fleet {
	t.Helper()
	project := java.Build(t, "java", "../java/src/main/java/aspect")
	server := redistest.Start(t)
	f := &fleet{rdb: server.Client(t)}
	f.jvm = project.Start(t, "shop.Application", "--server.port=0", "--spring.data.redis.url=redis://"+server.Addr())
	t.Cleanup(f.jvm.Kill)
	var err error
	if f.spring, err = url.Parse(f.jvm.Line()); err != nil {
		t.Fatal(err)
	}
	f.shop = newShop(f.rdb, redislock.WithFreeRelease())
	t.Cleanup(f.shop.close)
	f.serve(t, f.shop)
	return f
}

// serve starts a front with s as the Go side.
func (f *fleet) serve(t *testing.T, s *shop) {
	t.Helper()
	f.front = httptest.NewServer(newFront(s, f.spring))
	t.Cleanup(f.front.Close)
}

// shares says how many requests of 100 Go serves, of each method.
type shares struct{ sell, restock, book int }

func (f *fleet) set(t *testing.T, s shares) {
	t.Helper()
	for method, percent := range map[string]int{"sell": s.sell, "restock": s.restock, "book": s.book} {
		f.request(t, http.MethodPut, "/share/"+method, url.Values{"go": {strconv.Itoa(percent)}}).ok(t)
	}
}

// answer is what the front answers.
type answer struct {
	what   string
	status int
	side   string // spring or go; empty for the front itself
	body   string
}

// request sends a request to the front.
func (f *fleet) request(t *testing.T, method, path string, query url.Values) answer {
	t.Helper()
	a := answer{what: method + " " + path + "?" + query.Encode()}
	req, err := http.NewRequestWithContext(t.Context(), method, f.front.URL+path+"?"+query.Encode(), http.NoBody)
	if err != nil {
		t.Error(err)
		return a
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return a
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Errorf("%s: %v", a.what, err)
	}
	a.status, a.side, a.body = res.StatusCode, res.Header.Get(servedBy), string(body)
	return a
}

// ok reports an error if the request has failed.
func (a answer) ok(t *testing.T) {
	t.Helper()
	if a.status != http.StatusOK {
		t.Errorf("%s: %d %s", a.what, a.status, a.body)
	}
}
