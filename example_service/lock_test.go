package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock/example_service/shopv1"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/testkit"
	"github.com/distlock-go/distlock/internal/testmode"
)

// write is a way to change an item.
type write struct {
	name string
	do   func(t *testing.T, c *client, sku string) string
}

const order1 = `{"buyer":"u1","quantity":1}`

// Each returns one word for the result.
var (
	lockedWrites = []write{
		{"HTTP order", func(t *testing.T, c *client, sku string) string {
			return httpWord(t, c, "POST", "/items/"+sku+"/orders", order1)
		}},
		{"HTTP reset", func(t *testing.T, c *client, sku string) string {
			return httpWord(t, c, "PUT", "/items/"+sku, `{"stock":10}`)
		}},
		{"gRPC order", func(t *testing.T, c *client, sku string) string {
			_, err := c.grpc.PlaceOrder(t.Context(), &shopv1.PlaceOrderRequest{Sku: sku, Buyer: "u1", Quantity: 1})
			return grpcWord(err)
		}},
		{"gRPC reset", func(t *testing.T, c *client, sku string) string {
			_, err := c.grpc.SetItem(t.Context(), &shopv1.SetItemRequest{Sku: sku, Stock: 10})
			return grpcWord(err)
		}},
	}
	unlockedWrites = []write{
		{"HTTP unlocked order", func(t *testing.T, c *client, sku string) string {
			return httpWord(t, c, "POST", "/unlocked/items/"+sku+"/orders", order1)
		}},
		{"gRPC unlocked order", func(t *testing.T, c *client, sku string) string {
			_, err := c.grpc.PlaceOrderUnlocked(t.Context(), &shopv1.PlaceOrderRequest{Sku: sku, Buyer: "u1", Quantity: 1})
			return grpcWord(err)
		}},
	}
)

func httpWord(t *testing.T, c *client, method, path, body string) string {
	a, err := c.do(t.Context(), method, path, body)
	if err != nil {
		return err.Error()
	}
	if a.status < 300 {
		return "done"
	}
	p := a.problem(t)
	hint := a.header.Get("Retry-After") != ""
	switch {
	case a.status == http.StatusConflict && p.Type == httpmw.TypeBusy && hint:
		return "busy"
	case a.status == http.StatusServiceUnavailable && p.Type == httpmw.TypeUnavailable && hint:
		return "unavailable"
	default:
		return string(a.body)
	}
}

func grpcWord(err error) string {
	switch status.Code(err) {
	case codes.OK:
		return "done"
	case codes.Aborted:
		return "busy"
	case codes.Unavailable:
		return "unavailable"
	default:
		return err.Error()
	}
}

// doAll does all writes at once and checks their results.
func doAll(t *testing.T, c *client, sku string, writes []write, want string) {
	t.Helper()
	var all sync.WaitGroup
	for _, w := range writes {
		all.Go(func() {
			if got := w.do(t, c, sku); got != want {
				t.Errorf("%s: %s, want %s", w.name, got, want)
			}
		})
	}
	all.Wait()
}

// TestAllWaysTakeOneLock holds the lock of a sku and checks that all writes are
// refused.
func TestAllWaysTakeOneLock(t *testing.T) {
	t.Parallel() // most of its time is waiting
	redis := newStore(t)
	c := newClient(t, startService(t, "-backend", redis.url, "-wait", "1s").addresses)
	c.set(t, "tea", 10)
	release := redis.hold(t, "tea")
	doAll(t, c, "tea", lockedWrites, "busy")
	doAll(t, c, "tea", unlockedWrites, "done")
	if it := c.item(t, "tea"); it.Stock > 9 || it.Sold != 2 {
		t.Errorf("%+v", it)
	}
	release()
	for _, w := range lockedWrites { // one after the other, because their time limits are short
		doAll(t, c, "tea", []write{w}, "done")
	}
}

// TestOneLockForEachOrder checks that the method below the middleware re-enters the
// lock, without a request to the store.
func TestOneLockForEachOrder(t *testing.T) {
	s := startService(t, "-v")
	c := newClient(t, s.addresses)
	for _, w := range append([]write{lockedWrites[3]}, lockedWrites...) {
		doAll(t, c, "tea", []write{w}, "done")
	}
	testkit.Eventually(t, "all locks are given back", func() bool { return s.logged("lock released") == 7 })
	// A re-entry logs two lines.
	if n, re := s.logged("lock acquired"), strings.Count(s.log.String(), "reentrant=true"); n != 7 || re != 2*2 {
		t.Errorf("acquired %d times, of which re-entered %d/2, want 7 and 2:\n%s", n, re, s.log)
	}
}

// TestStoreDown closes the store of the locks while the service runs.
func TestStoreDown(t *testing.T) {
	testmode.Long(t)
	t.Parallel() // most of its time is waiting
	redis := newStore(t)
	s := startService(t, "-backend", redis.url, "-wait", "500ms")
	c := newClient(t, s.addresses)
	skus := make([]string, len(lockedWrites))
	for i := range skus {
		skus[i] = fmt.Sprint("tea", i)
		c.set(t, skus[i], 10)
		if r := c.orderHTTP(t.Context(), "", skus[i]); r.err != nil {
			t.Fatal(r.err)
		}
	}
	_ = redis.server.Close()

	// For each item one caller asks the store and two wait for that one. These may get
	// "busy" if the store has not failed yet when they stop waiting.
	start := time.Now()
	var all sync.WaitGroup
	for i, w := range lockedWrites {
		words := make(chan string, 3)
		for range cap(words) {
			all.Go(func() { words <- w.do(t, c, skus[i]) })
		}
		all.Go(func() {
			said := map[string]int{<-words: 1}
			said[<-words]++
			said[<-words]++
			if said["unavailable"] == 0 || said["unavailable"]+said["busy"] != cap(words) {
				t.Errorf("%s: %v", w.name, said)
			}
		})
	}
	all.Wait()
	// An order waits for half a second, and an attempt in progress may take as long
	// again. The limit is higher for slow machines.
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("the answers took %v", d)
	}
	for _, sku := range skus {
		if it := c.item(t, sku); it != (item{sku, 9, 1}) {
			t.Errorf("something was written without the lock: %+v", it)
		}
	}
	start = time.Now()
	if code := s.stop(t); code != exitOK {
		t.Errorf("exit %d: %s", code, s.log)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("stopping took %v", d)
	}
}
