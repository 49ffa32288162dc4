package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/example_service/shopv1"
	"github.com/distlock-go/distlock/internal/testkit"
)

func TestWrongRoutesAreRefusedAtStart(t *testing.T) {
	handle := func(http.ResponseWriter, *http.Request) {}
	const order = "/items/{sku}/orders"
	for _, c := range []struct {
		explanation, want string
		routes            []route
	}{
		{"good ones", "", []route{
			{method: "GET", pattern: "/", lock: unlocked, handle: handle},
			{method: "POST", pattern: order, lock: "sku", handle: handle},
			{method: "PUT", pattern: "/shops/{shop}/items/{sku}", lock: "shop", handle: handle},
		}},
		{
			"a wrong wildcard", `route POST /items/{sku}/orders: lock: httpmw: the pattern "/items/{sku}/orders" has no path value "skus"`,
			[]route{{method: "POST", pattern: order, lock: "skus", handle: handle}},
		},
		{
			"a wildcard of another route", `route GET /healthz: lock: httpmw: the pattern "/healthz" has no path value "sku"`,
			[]route{{method: "POST", pattern: order, lock: "sku", handle: handle}, {method: "GET", pattern: "/healthz", lock: "sku", handle: handle}},
		},
		{
			"a piece that is no wildcard", `route POST /items/{sku}/orders: lock: httpmw: the pattern "/items/{sku}/orders" has no path value "orders"`,
			[]route{{method: "POST", pattern: order, lock: "orders", handle: handle}},
		},
		{
			"no word about a lock", `route POST /items/{sku}/orders: lock: is missing; a route without a lock says "-"`,
			[]route{{method: "POST", pattern: order, handle: handle}},
		},
		{
			"another method", `route LOCK /items/{sku}/orders: method: want one of ["GET" "POST" "PUT"], got "LOCK"`,
			[]route{{method: "LOCK", pattern: order, lock: "sku", handle: handle}},
		},
		{"no handler", `route POST /items/{sku}/orders: handle: is nil`, []route{{method: "POST", pattern: order, lock: "sku"}}},
		{
			"one twice", `route POST /items/{sku}/orders: is there twice`,
			[]route{{method: "POST", pattern: order, lock: "sku", handle: handle}, {method: "POST", pattern: order, lock: unlocked, handle: handle}},
		},
		{"no slash", `route GET items: pattern: does not begin with a slash`, []route{{method: "GET", pattern: "items", lock: unlocked, handle: handle}}},
		{
			"half a wildcard", `route GET /items/{sku: pattern: want pieces that are text or {name}, got "{sku"`,
			[]route{{method: "GET", pattern: "/items/{sku", lock: "sku", handle: handle}},
		},
		{
			"all at once", "route GET /a: lock: httpmw: the pattern \"/a\" has no path value \"b\"\nroute GET /a: handle: is nil\nroute PUT /a/{}: pattern: want pieces that are text or {name}, got \"{}\"",
			[]route{{method: "GET", pattern: "/a", lock: "b"}, {method: "PUT", pattern: "/a/{}", lock: unlocked, handle: handle}},
		},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			r := chi.NewRouter()
			err := mount(r, c.routes, testkit.NewLocker(t, memlock.New(), distlock.Config{}), itemLock(config{wait: time.Second}))
			var got string
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got\n%s, want\n%s", got, c.want)
			}
			want := len(c.routes)
			if c.want != "" {
				want = 0
			}
			if n := len(r.Routes()); n != want {
				t.Errorf("%d routes are served, want %d", n, want)
			}
		})
	}
}

// TestOneLockIsDeclaredTwice checks that shop.proto and lock.go declare the same lock.
func TestOneLockIsDeclaredTwice(t *testing.T) {
	lock := itemLock(config{wait: 7 * time.Second, think: time.Second})
	declared := map[string]distlock.Opts{}
	grpcLocks(lock).Adjust(func(method string, o *distlock.Opts) { declared[method] = *o })
	want := map[string]distlock.Opts{shopv1.ShopService_PlaceOrder_FullMethodName: lock}
	if fmt.Sprintf("%+v", declared) != fmt.Sprintf("%+v", want) {
		t.Errorf("shop.proto declares\n%+v, want\n%+v", declared, want)
	}
}

// TestREADMEQuotes checks that the code in the README is in the source.
func TestREADMEQuotes(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	readme := read("README.md")
	for fence, source := range map[string]string{"```go\n": "http.go", "```proto\n": "shopv1/shop.proto"} {
		lines := map[string]bool{}
		for line := range strings.Lines(read(source)) {
			lines[strings.TrimSpace(line)] = true
		}
		_, rest, found := strings.Cut(readme, fence)
		block, _, closed := strings.Cut(rest, "```")
		if !found || !closed {
			t.Fatalf("the README has no %s", fence)
		}
		for line := range strings.Lines(block) {
			if !lines[strings.TrimSpace(line)] {
				t.Errorf("not in %s: %s", source, line)
			}
		}
	}
}
