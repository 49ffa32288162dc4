package load

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// loadOn runs a load on a shop, with each plan.
func loadOn(t *testing.T, newShop func() *fakeShop, check func(t *testing.T, plan string, got ended), args ...string) {
	t.Helper()
	t.Parallel()
	for _, plan := range []string{"http", "grpc"} {
		t.Run(plan, func(t *testing.T) {
			t.Parallel()
			s := newShop()
			args := append([]string{"-plan", plan, "-target", s.serve(t, plan), "-ramp-up", "0", "-think", "0"}, args...)
			check(t, plan, runArgs(t.Context(), args...))
		})
	}
}

func TestOrders(t *testing.T) {
	t.Parallel()
	for _, plan := range []string{"http", "grpc"} {
		s := new(fakeShop)
		target, jtl := s.serve(t, plan), filepath.Join(t.TempDir(), "out.jtl")
		got := runArgs(t.Context(), "-plan", plan, "-target", target, "-ramp-up", "0", "-think", "0", "-users", "101", "-loops", "2", "-keys", "2", "-jtl", jtl)
		got.wantCode(t, 0)
		wantContains(t, got.stdout, plan+" lock: 202 of 202 increments\n")
		wantContains(t, got.stdout, " of 202 increments, ") // some are lost
		if a, b := s.item("bench-1").sold.Load(), s.item("bench-2").sold.Load(); a != 102 || b != 100 || len(s.items) != 2 {
			t.Errorf("%d and %d sold, of %d items", a, b, len(s.items))
		}
		if n := s.conns.Load(); n > 2*101 {
			t.Errorf("%d connections for 101 users, twice", n)
		}
		text, err := os.ReadFile(jtl)
		if err != nil {
			t.Fatal(err)
		}
		code, locked, unlocked := "201,Created", target+"/items/bench-", target+"/unlocked/items/bench-"
		if plan == "grpc" {
			code, locked = "OK,OK", "grpc://"+target+"/shop.v1.ShopService/PlaceOrder,"
			unlocked = strings.TrimSuffix(locked, ",") + "Unlocked,"
		}
		const bodies = `,text,true,,[1-9]\d*,[1-9]\d*,`
		for _, line := range []string{
			"," + plan + " lock," + code + `,Thread Group 1-\d+` + bodies + ".*," + regexp.QuoteMeta(locked),
			"," + plan + " no lock," + code + `,Thread Group 2-\d+` + bodies + ".*," + regexp.QuoteMeta(unlocked),
		} {
			if n := len(regexp.MustCompile(line).FindAll(text, -1)); n != 202 {
				t.Errorf("%d lines have %s, want 202:\n%.500s", n, line, text)
			}
		}
	}
}

func TestOrdersLostInSpiteOfTheLock(t *testing.T) {
	loadOn(t, func() *fakeShop { return &fakeShop{leaks: true} }, func(t *testing.T, plan string, got ended) {
		got.wantCode(t, 1)
		wantContains(t, got.stderr, " increments lost in spite of the lock\n")
		wantContains(t, got.stdout, plan+" lock ")
	}, "-users", "20", "-loops", "3", "-lock", "on")
}

func TestOrdersRefused(t *testing.T) {
	loadOn(t, func() *fakeShop { return &fakeShop{refuses: true} }, func(t *testing.T, plan string, got ended) {
		got.wantCode(t, 1)
		code := map[string]string{"http": "409 Conflict", "grpc": "FailedPrecondition"}[plan]
		if want := "bench: " + plan + " no lock: all samples failed, the first with: " + code + ": nothing, \"nil\", left\n"; got.stderr != want {
			t.Errorf("stderr %q, want %q", got.stderr, want)
		}
		wantContains(t, got.stdout, "100.00%")
	}, "-users", "2", "-loops", "2", "-lock", "off")
}

// If the service dies between the run and the count, the counter is unknown.
func TestServiceGone(t *testing.T) {
	loadOn(t, func() *fakeShop { return &fakeShop{gone: true} }, func(t *testing.T, plan string, got ended) {
		got.wantCode(t, 1)
		fault := map[string]string{"http": "GET /items/bench-1: 409 Conflict: gone", "grpc": "Unavailable: gone"}[plan]
		wantContains(t, got.stderr, plan+" lock: the counter cannot be read: "+fault+"\n")
		wantContains(t, got.stdout, plan+" lock: unknown of 4 increments\n")
	}, "-users", "2", "-loops", "2")
}

func TestUnreachable(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	addr := child.ClosedAddr(t)
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
		if strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
			t.Errorf("stdout %q, stderr %q: want one line on stderr", got.stdout, got.stderr)
		}
	}
}

func TestNoAnswer(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer s.Close()
	r := newHTTPShop(mustParse(t, "-plan", "http", "-target", s.URL), true).order(t.Context(), 0, "bench-1", "u1")
	if r.err == nil || !strings.HasPrefix(r.code, "Non HTTP response code: ") || !strings.HasPrefix(r.message, "Non HTTP response message: ") {
		t.Errorf("%+v", r)
	}
}
