package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/example_service/shopv1"
	"github.com/distlock-go/distlock/internal/sqltest"
	"github.com/distlock-go/distlock/internal/testkit"
	"github.com/distlock-go/distlock/internal/testmode"
)

// TestDatabaseGone kills the database while two orders think, and restarts it.
func TestDatabaseGone(t *testing.T) {
	testmode.Long(t)
	t.Parallel() // most of its time is waiting
	redis, postgres := newStore(t), sqltest.Postgres.Start(t)
	db := postgres.URL(postgres.NewDatabase(t))
	s := startService(t, "-backend", redis.url, "-db", db, "-think", "2s")
	c := newClient(t, s.addresses)
	c.set(t, "tea", 10)
	c.set(t, "coffee", 10)

	var orders sync.WaitGroup
	orders.Go(func() {
		a, err := c.do(t.Context(), "POST", "/items/tea/orders", order1)
		if err != nil {
			t.Error(err)
			return
		}
		if p := a.problem(t); a.status != http.StatusServiceUnavailable || p.Type != "database_unavailable" {
			t.Errorf("the order over HTTP: %d %s", a.status, a.body)
		}
	})
	orders.Go(func() {
		_, err := c.grpc.PlaceOrder(t.Context(), &shopv1.PlaceOrderRequest{Sku: "coffee", Buyer: "u1", Quantity: 1})
		checkStatus(t, err, codes.Unavailable, "nothing was written")
	})
	testkit.Eventually(t, "both orders think", func() bool { return redis.held(t, "tea") && redis.held(t, "coffee") })
	postgres.Kill()
	orders.Wait()
	if a := c.must(t, http.StatusServiceUnavailable, "GET", "/items/tea", ""); a.problem(t).Type != "database_unavailable" {
		t.Errorf("%s", a.body)
	}
	if log := s.log.String(); !strings.Contains(log, "the database failed: postgres://"+postgres.Addr()) || strings.Contains(log, "lock lost") {
		t.Errorf("the log does not say what failed, or more than that:\n%s", log)
	}

	restart(t, postgres, c)
	for _, sku := range []string{"tea", "coffee"} {
		if it := c.item(t, sku); it != (item{sku, 10, 0}) {
			t.Errorf("%+v", it)
		}
	}
	if r := c.orderHTTP(t.Context(), "", "tea"); r.err != nil || r.Remaining != 9 {
		t.Errorf("%+v", r)
	}
}

// TestDatabaseHangs stops the database. No operation waits for longer than it should.
func TestDatabaseHangs(t *testing.T) {
	t.Parallel() // most of its time is waiting
	postgres := sqltest.Postgres.Start(t)
	s := openTestStore(t, postgres.URL(postgres.NewDatabase(t)))
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	sh := newShop(l, itemLock(config{wait: time.Minute}), s, &ledger{}, thinkFor(0))
	if _, err := sh.reset(t.Context(), stockRequest{"tea", 10}); err != nil {
		t.Fatal(err)
	}
	s.timeout = 200 * time.Millisecond
	postgres.Stop(t)
	start := time.Now()
	for name, f := range map[string]func() error{
		"item":     func() error { _, err := sh.item(t.Context(), "tea"); return err },
		"reset":    func() error { _, err := sh.reset(t.Context(), stockRequest{"tea", 5}); return err },
		"place":    func() error { _, err := sh.place(t.Context(), orderRequest{"tea", "u1", 1}); return err },
		"unlocked": func() error { _, err := sh.placeUnlocked(t.Context(), orderRequest{"tea", "u1", 1}); return err },
	} {
		if err := f(); !errors.Is(err, errDatabase) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d := time.Since(start); d > storeTimeout/2 {
		t.Errorf("the answers took %v", d)
	}
	s.timeout = storeTimeout
	postgres.Cont(t)
	if o, err := sh.place(t.Context(), orderRequest{"tea", "u1", 1}); err != nil || o.Remaining != 9 {
		t.Errorf("after it continues: %+v, %v", o, err)
	}
}

// restart restarts the database and waits until the service has a new connection.
func restart(t *testing.T, postgres *sqltest.Server, c *client) {
	t.Helper()
	postgres.Restart(t)
	testkit.Eventually(t, "the database answers", func() bool {
		a, err := c.do(t.Context(), "GET", "/items/tea", "")
		if err != nil {
			t.Fatal(err)
		}
		return a.status == http.StatusOK
	})
}

// TestNoHalfOrder kills the database in the middle of many orders. Each of them is
// written as a whole or not at all, and its answer is true.
func TestNoHalfOrder(t *testing.T) {
	testmode.Long(t)
	t.Parallel() // most of its time is waiting
	for _, locks := range []string{"embedded", "in the database"} {
		t.Run(locks, func(t *testing.T) {
			t.Parallel()
			const stock, buyers, rounds = maxStock, 8, 3
			postgres := sqltest.Postgres.Start(t)
			db := postgres.URL(postgres.NewDatabase(t))
			backend := locks
			if backend != "embedded" {
				backend = db
			}
			c := newClient(t, startService(t, "-backend", backend, "-db", db, "-think", "0").addresses)
			skus := []string{"tea", "coffee"}
			for _, sku := range skus {
				c.set(t, sku, stock)
			}
			for range rounds {
				before := map[string]int{}
				for _, sku := range skus {
					before[sku] = c.item(t, sku).Sold
				}
				sales := &orderCounts{sold: map[string]int{}, open: map[string]int{}}
				ctx, cancel := context.WithCancel(t.Context())
				var orders sync.WaitGroup
				for i := range buyers {
					orders.Go(func() {
						for ctx.Err() == nil {
							sales.order(t, c, skus[i%len(skus)])
						}
					})
				}
				testkit.Eventually(t, "orders are placed", func() bool { return sales.least(skus) > 10 })
				postgres.Kill()
				cancel()
				restart(t, postgres, c)
				orders.Wait()
				for _, sku := range skus {
					it := c.item(t, sku)
					now, sold, open := it.Sold-before[sku], sales.sold[sku], sales.open[sku]
					t.Logf("%s: %d sold; %d confirmed, %d unknown", sku, now, sold, open)
					if it.Stock+it.Sold != stock {
						t.Errorf("half an order was written: %+v of %d", it, stock)
					}
					if now < sold || now > sold+open {
						t.Errorf("%d were sold, but %d confirmed and %d unknown", now, sold, open)
					}
				}
			}
		})
	}
}

// orderCounts counts the orders of each item.
type orderCounts struct {
	mu   sync.Mutex
	sold map[string]int // confirmed
	open map[string]int // the answer says that the outcome is not known
}

// order orders one piece.
func (s *orderCounts) order(t *testing.T, c *client, sku string) {
	_, err := c.grpc.PlaceOrder(t.Context(), &shopv1.PlaceOrderRequest{Sku: sku, Buyer: "u1", Quantity: 1})
	s.mu.Lock()
	defer s.mu.Unlock()
	switch code := status.Code(err); {
	case code == codes.OK:
		s.sold[sku]++
	case code == codes.Unknown, strings.Contains(status.Convert(err).Message(), "in doubt"):
		s.open[sku]++
	case code == codes.Unavailable, code == codes.Aborted: // nothing was written
	default:
		t.Errorf("%s: %v", sku, err)
	}
}

// least returns the number of confirmed orders of the item that has the fewest.
func (s *orderCounts) least(skus []string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.sold[skus[0]]
	for _, sku := range skus {
		n = min(n, s.sold[sku])
	}
	return n
}
