package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/internal/testkit"
)

// orderAll places orders concurrently, over HTTP and gRPC and through all clients in
// turn, and returns the sales in the order in which they were made.
func orderAll(t *testing.T, n int, locked bool, sku string, clients ...*client) (sales []order, soldOut int) {
	t.Helper()
	prefix := ""
	if !locked {
		prefix = "/unlocked"
	}
	results := make([]result, n)
	var users sync.WaitGroup
	begin := make(chan struct{})
	for i := range results {
		c := clients[i/2%len(clients)]
		users.Go(func() {
			<-begin
			if i%2 == 0 {
				results[i] = c.orderHTTP(t.Context(), prefix, sku)
			} else {
				results[i] = c.orderGRPC(t.Context(), locked, sku)
			}
		})
	}
	close(begin)
	users.Wait()
	for _, r := range results {
		switch {
		case r.err == nil:
			sales = append(sales, r.order)
		case errors.Is(r.err, errSoldOut):
			soldOut++
		default:
			t.Errorf("neither sold nor sold out: %v", r.err)
		}
	}
	slices.SortFunc(sales, byID)
	return sales, soldOut
}

func byID(a, b order) int { return cmp.Compare(a.ID, b.ID) }

// checkSale checks that the result of a sale is as if all orders had come one after the
// other.
func checkSale(t *testing.T, stock int, sales []order, after item) {
	t.Helper()
	if after.Stock != 0 || after.Sold != stock || len(sales) != stock {
		t.Errorf("%d in stock: %d sold, %d orders, %d left", stock, after.Sold, len(sales), after.Stock)
	}
	for i, o := range sales {
		if want := stock - 1 - i; o.Remaining != want {
			t.Errorf("order %d left %d, want %d", o.ID, o.Remaining, want)
		}
		if o.SKU != after.SKU {
			t.Errorf("order %d of %q, not %q", o.ID, o.SKU, after.SKU)
		}
		if i > 0 && o.Token <= sales[i-1].Token {
			t.Errorf("order %d has token %d after %d", o.ID, o.Token, sales[i-1].Token)
		}
	}
}

func TestSaleNeverOversells(t *testing.T) {
	c := newClient(t, startService(t).addresses)
	for _, sale := range []struct{ stock, orders int }{{100, 500}, {10, 20}} { // the second sale follows a reset
		c.set(t, "tea", sale.stock)
		sales, soldOut := orderAll(t, sale.orders, true, "tea", c)
		if soldOut != sale.orders-sale.stock {
			t.Errorf("%d sold out, want %d", soldOut, sale.orders-sale.stock)
		}
		checkSale(t, sale.stock, sales, c.item(t, "tea"))
	}
}

// TestThreeWaysSellTogether orders over HTTP, over gRPC and by calling the method.
func TestThreeWaysSellTogether(t *testing.T) {
	const stock, orders = 20, 60
	cfg := config{wait: 10 * time.Second, bodyTimeout: 10 * time.Second}
	log := slog.New(slog.DiscardHandler)
	l, lock := testkit.NewLocker(t, memlock.New(), distlock.Config{}), itemLock(cfg)
	sh := newShop(l, lock, openTestStore(t, ""), &ledger{}, thinkFor(time.Millisecond))
	handler, err := (&httpAPI{shop: sh, monitor: newMonitor(log), bodyTimeout: cfg.bodyTimeout, log: log}).handler(l, lock)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(handler)
	defer web.Close()
	rpc := newGRPCServer(sh, l, lock, newMonitor(log), log)
	defer rpc.Stop()
	rpcListener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = rpc.Serve(rpcListener) }()
	c := newClient(t, addresses{http: web.Listener.Addr().String(), grpc: rpcListener.Addr().String()})
	c.set(t, "tea", stock)

	results := make(chan result, orders)
	for i := range orders {
		go func() {
			switch i % 3 {
			case 0:
				results <- c.orderHTTP(t.Context(), "", "tea")
			case 1:
				results <- c.orderGRPC(t.Context(), true, "tea")
			default:
				o, err := sh.place(t.Context(), orderRequest{"tea", "u1", 1})
				results <- result{o, err}
			}
		}()
	}
	var sales []order
	for range orders {
		switch r := <-results; {
		case r.err == nil:
			sales = append(sales, r.order)
		case !errors.Is(r.err, errSoldOut):
			t.Error(r.err)
		}
	}
	slices.SortFunc(sales, byID)
	checkSale(t, stock, sales, c.item(t, "tea"))
}

// TestItemsDoNotWaitForEachOther holds one item and sells another.
func TestItemsDoNotWaitForEachOther(t *testing.T) {
	redis := newStore(t)
	c := newClient(t, startService(t, "-backend", redis.url).addresses)
	c.set(t, "tea", 1)
	c.set(t, "coffee", 1)
	defer redis.hold(t, "tea")()
	if r := c.orderHTTP(t.Context(), "", "coffee"); r.err != nil {
		t.Error(r.err)
	}
	if r := c.orderGRPC(t.Context(), true, "coffee"); !errors.Is(r.err, errSoldOut) {
		t.Error(r.err)
	}
}

// TestUnlockedSaleOversells shows the result without the lock. The number of sales is
// random, but it is at least the stock, because each sale reduces the stock by one at
// most.
func TestUnlockedSaleOversells(t *testing.T) {
	const stock, orders = 100, 500
	c := newClient(t, startService(t).addresses)
	c.set(t, "tea", stock)
	sales, soldOut := orderAll(t, orders, false, "tea", c)
	after := c.item(t, "tea")
	t.Logf("without the lock %d of %d were sold, and %d are left", after.Sold, stock, after.Stock)
	if after.Sold < stock || after.Sold != len(sales) || after.Sold+soldOut != orders {
		t.Errorf("%d sold, %d orders, %d sold out", after.Sold, len(sales), soldOut)
	}
	for _, o := range sales {
		if o.Token != 0 {
			t.Fatalf("order %d has a token: %d", o.ID, o.Token)
		}
	}
}

// TestAbandonedOrders has clients that disconnect while they wait: nothing is sold to
// them, and other orders do not wait for them.
func TestAbandonedOrders(t *testing.T) {
	redis := newStore(t)
	s := startService(t, "-backend", redis.url, "-v")
	c := newClient(t, s.addresses)
	c.set(t, "tea", 10)
	release := redis.hold(t, "tea")
	wanted := s.wanted()
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for i := range 6 {
		waiting.Go(func() {
			var r result
			if i%2 == 0 {
				r = c.orderHTTP(ctx, "", "tea")
			} else {
				r = c.orderGRPC(ctx, true, "tea")
			}
			if r.err == nil {
				t.Error("sold to a client that had left")
			}
		})
	}
	testkit.Eventually(t, "the orders arrive", func() bool { return s.wanted() >= wanted+6 })
	cancel()
	waiting.Wait()
	testkit.Eventually(t, "the orders are given up", func() bool { return s.logged("lock not acquired") == 6 })
	release()
	if r := c.orderHTTP(t.Context(), "", "tea"); r.err != nil || r.Remaining != 9 {
		t.Errorf("%+v", r)
	}
}
