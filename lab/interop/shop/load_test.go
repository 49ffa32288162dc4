package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const (
	users   = 8
	orders  = 64   // of all users
	stock   = 1000 // of each item, at the start
	restock = 1000 // pieces; more than are sold, so that a lost sale and a lost restock do not look alike
)

var items = []Item{{"tea", 1}, {"tea", 2}}

// load is a number of orders that users send at the same time.
type load struct {
	fleet  *fleet
	spring atomic.Int64 // requests that Spring has served
	golang atomic.Int64 // and Go
}

// run resets the stock and the ledger, and lets the users send all orders.
func (f *fleet) run(t *testing.T, send func(l *load, order int)) *load {
	t.Helper()
	ctx := t.Context()
	for _, i := range items {
		if err := f.rdb.Set(ctx, i.key(), stock, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.rdb.Del(ctx, "ledger").Err(); err != nil {
		t.Fatal(err)
	}
	l := &load{fleet: f}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range users {
		wg.Go(func() {
			for n := next.Add(1); n <= orders; n = next.Add(1) {
				send(l, int(n))
			}
		})
	}
	wg.Wait()
	return l
}

// post sends a request that must succeed.
func (l *load) post(t *testing.T, path string, query url.Values) {
	t.Helper()
	a := l.fleet.request(t, http.MethodPost, path, query)
	a.ok(t)
	switch a.side {
	case "spring":
		l.spring.Add(1)
	case "go":
		l.golang.Add(1)
	default:
		t.Errorf("%s: served by %q", a.what, a.side)
	}
}

// order is an order of one piece, under a kind of lock. The client repeats the request to
// book it, and every second item is restocked.
func order(t *testing.T, lock string) func(l *load, n int) {
	return func(l *load, n int) {
		of := items[n%len(items)].query()
		booking := url.Values{"order": {fmt.Sprintf("order-%d", n)}}
		l.post(t, "/"+lock+"/sell", of)
		l.post(t, "/"+lock+"/book", booking)
		l.post(t, "/"+lock+"/book", booking)
		if n%4 < 2 {
			l.post(t, "/"+lock+"/restock", of)
		}
	}
}

// sale sells one piece of the first item.
func sale(t *testing.T, lock string) func(l *load, n int) {
	return func(l *load, _ int) { l.post(t, "/"+lock+"/sell", items[0].query()) }
}

func (i Item) query() url.Values {
	return url.Values{"sku": {i.SKU}, "warehouse": {strconv.Itoa(int(i.Warehouse))}}
}

// left returns the stock of an item.
func (f *fleet) left(t *testing.T, i Item) int {
	t.Helper()
	left, err := f.rdb.Get(t.Context(), i.key()).Int()
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// booked returns how many orders are in the ledger exactly once.
func (f *fleet) booked(t *testing.T) (once int) {
	t.Helper()
	ledger, err := f.rdb.Get(t.Context(), "ledger").Result()
	if err != nil {
		t.Fatal(err)
	}
	times := make(map[string]int)
	for o := range strings.FieldsSeq(ledger) {
		times[o]++
	}
	for n := 1; n <= orders; n++ {
		if times[fmt.Sprintf("order-%d", n)] == 1 {
			once++
		}
	}
	return once
}
