package redlock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestPanics(t *testing.T) {
	t.Parallel()
	cs := unreachable(t, 5)
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:0"}})
	defer cluster.Close()
	ring := redis.NewRing(&redis.RingOptions{})
	defer ring.Close()
	var typed *redis.Client

	for want, f := range map[string]func(){
		"0 clients; it takes an odd number, at least 3": func() { redlock.New(nil, redlock.Config{}) },
		"1 clients; it takes an odd number, at least 3": func() { redlock.New(cs[:1], redlock.Config{}) },
		"2 clients; it takes an odd number, at least 3": func() { redlock.New(cs[:2], redlock.Config{}) },
		"4 clients; it takes an odd number, at least 3": func() { redlock.New(cs[:4], redlock.Config{}) },
		"client 1 is nil":            func() { redlock.New([]redis.UniversalClient{cs[0], nil, cs[2]}, redlock.Config{}) },
		"client 2 is nil":            func() { redlock.New([]redis.UniversalClient{cs[0], cs[1], typed}, redlock.Config{}) },
		"client 2 is client 0 again": func() { redlock.New([]redis.UniversalClient{cs[0], cs[1], cs[0]}, redlock.Config{}) },
		"client 0 is a *redis.ClusterClient; it must be the client of one master": func() { redlock.New([]redis.UniversalClient{cluster, cs[1], cs[0]}, redlock.Config{}) },
		"client 1 is a *redis.Ring; it must be the client of one master":          func() { redlock.New([]redis.UniversalClient{cs[1], ring, cs[0]}, redlock.Config{}) },
		"Config.NodeTimeout: 1µs is less than a millisecond":                      func() { redlock.New(cs, redlock.Config{NodeTimeout: time.Microsecond}) },
		"Config.NodeTimeout: -1s is less than a millisecond":                      func() { redlock.New(cs, redlock.Config{NodeTimeout: -time.Second}) },
		"Config.MaxLease: 999µs is less than a millisecond":                       func() { redlock.New(cs, redlock.Config{MaxLease: 999 * time.Microsecond}) },
	} {
		testkit.WantPanic(t, "redlock: "+want, f)
	}
}

// Invalid requests are refused before anything is sent.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	cs := unreachable(t, 3)
	b := redlock.Open(cs, redlock.Config{MaxLease: 20 * time.Second})
	for name, change := range map[string]func(*driver.Request){
		"no key":       func(r *driver.Request) { r.Key = "" },
		"no owner":     func(r *driver.Request) { r.Owner = "" },
		"reserved":     func(r *driver.Request) { r.Owner = "-" },
		"long owner":   func(r *driver.Request) { r.Owner = strings.Repeat("x", 129) },
		"space":        func(r *driver.Request) { r.Owner = "a b" },
		"no TTL":       func(r *driver.Request) { r.TTL = 0 },
		"too short":    func(r *driver.Request) { r.TTL = time.Millisecond - 1 },
		"too long":     func(r *driver.Request) { r.TTL = 20*time.Second + 1 },
		"negative TTL": func(r *driver.Request) { r.TTL = -time.Second },
	} {
		r := request()
		change(&r)
		if _, err := b.TryAcquire(t.Context(), r); err == nil || errors.Is(err, driver.ErrNotAcquired) || strings.Contains(err.Error(), "node") {
			t.Errorf("%s: TryAcquire: %v", name, err)
		}
		if got := driver.RenewAll(t.Context(), b, []driver.Grant{r.Grant()}); !await.InDoubt(got[0]) {
			t.Errorf("%s: Renew: %v", name, got)
		}
	}
	if n := b.Owners(); n != 0 {
		t.Errorf("%d owners are left", n)
	}
}

// unreachable returns clients of nodes that do not exist.
func unreachable(tb testing.TB, n int) []redis.UniversalClient {
	tb.Helper()
	var cs []redis.UniversalClient
	for range n {
		c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:0"})
		tb.Cleanup(func() { _ = c.Close() })
		cs = append(cs, c)
	}
	return cs
}
