package main

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/distlock-go/distlock/internal/testkit"
	"github.com/distlock-go/distlock/internal/testmode"
)

// TestShutdownWaitsForOrders stops a service while some orders hold locks and others
// wait for them.
func TestShutdownWaitsForOrders(t *testing.T) {
	t.Parallel() // most of its time is waiting
	redis := newStore(t)
	s := startConfig(t, config{ // times that a busy machine does not exceed
		backend: redis.url, think: 300 * time.Millisecond, wait: time.Minute, grace: time.Minute,
		bodyTimeout: time.Minute, verbose: true,
	})
	c := newClient(t, s.addresses)
	skus := []string{"tea", "coffee", "cocoa"}
	for _, sku := range skus {
		c.set(t, sku, 10)
	}
	// All orders must wait before the first one gets its lock.
	var release []func()
	for _, sku := range skus {
		release = append(release, redis.hold(t, sku))
	}
	wanted, acquired := s.wanted(), s.logged("lock acquired")
	results := make(chan result, 4*len(skus))
	for i := range cap(results) {
		sku := skus[i%len(skus)]
		go func() {
			if i%2 == 0 {
				results <- c.orderHTTP(t.Context(), "", sku)
			} else {
				results <- c.orderGRPC(t.Context(), true, sku)
			}
		}()
	}
	testkit.Eventually(t, "all orders wait", func() bool { return s.wanted() == wanted+cap(results) })
	for _, f := range release {
		f()
	}
	testkit.Eventually(t, "some hold locks", func() bool { return s.logged("lock acquired") >= acquired+len(skus) })
	s.end()
	for _, addr := range []string{s.http, s.grpc} {
		testkit.Eventually(t, "nobody listens", func() bool {
			conn, err := net.DialTimeout("tcp", addr, time.Second)
			if err == nil {
				_ = conn.Close()
			}
			return err != nil
		})
	}
	for range cap(results) {
		if r := <-results; r.err != nil {
			t.Error(r.err)
		}
	}
	if code := s.stop(t); code != exitOK {
		t.Errorf("exit %d", code)
	}
	if left := redis.locks(t); len(left) > 0 {
		t.Errorf("still there: %q", left)
	}
	if n := s.logged("lock lost"); n > 0 {
		t.Errorf("%d locks were lost:\n%s", n, s.log)
	}
}

// TestShutdownCutsHungOrders has an order that takes longer than the shutdown waits.
func TestShutdownCutsHungOrders(t *testing.T) {
	redis := newStore(t)
	s := startConfig(t, config{
		backend: redis.url, think: time.Hour, wait: 10 * time.Second, grace: 100 * time.Millisecond,
		bodyTimeout: time.Minute,
	})
	c := newClient(t, s.addresses)
	var orders sync.WaitGroup
	for _, sku := range []string{"tea", "coffee"} {
		c.set(t, sku, 10)
		orders.Go(func() {
			var r result
			if sku == "tea" {
				r = c.orderHTTP(t.Context(), "", sku)
			} else {
				r = c.orderGRPC(t.Context(), true, sku)
			}
			if r.err == nil || errors.Is(r.err, errSoldOut) {
				t.Errorf("%s: %+v", sku, r)
			}
		})
	}
	testkit.Eventually(t, "the orders hold the locks", func() bool { return redis.held(t, "tea") && redis.held(t, "coffee") })
	begun := time.Now()
	if code := s.stop(t); code != exitError || !strings.Contains(s.log.String(), "cut short") {
		t.Errorf("exit %d: %s", code, s.log)
	}
	if d := time.Since(begun); d > 10*time.Second {
		t.Errorf("took %v", d)
	}
	orders.Wait()
	testkit.Eventually(t, "the locks are gone", func() bool { return len(redis.locks(t)) == 0 })
}

// TestServeFails closes the listener of one server and checks that both servers stop.
func TestServeFails(t *testing.T) {
	testmode.InRealTime(t)
	for broken, want := range []string{"serving HTTP", "serving gRPC"} {
		listeners := make([]net.Listener, 2)
		for i := range listeners {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			listeners[i] = l
		}
		s := newServers(t.Context(), config{grace: time.Second},
			http.NotFoundHandler(), grpc.NewServer(), slog.New(slog.DiscardHandler))
		_ = listeners[broken].Close()
		if err := s.serve(t.Context(), listeners[0], listeners[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
