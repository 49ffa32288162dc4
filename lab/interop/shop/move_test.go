package main

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

type stage struct {
	name string
	shares
}

// stages are the steps of the move. Between two steps both sides serve the same method,
// as in a rolling deployment.
var stages = []stage{
	{"all in Spring", shares{}},
	{"sell in both", shares{sell: 50}},
	{"sell in Go", shares{sell: 100}},
	{"restock in both", shares{sell: 100, restock: 50}},
	{"restock in Go", shares{sell: 100, restock: 100}},
	{"book in both", shares{sell: 100, restock: 100, book: 50}},
	{"all in Go", shares{sell: 100, restock: 100, book: 100}},
	{"all in both", shares{sell: 50, restock: 50, book: 50}},
}

// moves are the stages of the move of each kind of lock: all of them for one.
var moves = []struct {
	lock   string
	stages []stage
}{
	{"aspect", stages},
	{"lock4j", []stage{stages[1], stages[2], stages[7]}},
	{"redisson", []stage{stages[1], stages[2], stages[7]}},
}

// TestMove moves the methods from Spring to Go while users send orders: at every stage
// the stock is exact and each order is in the ledger once. Without the lock, or with
// other keys on the Go side, the same users lose updates.
func TestMove(t *testing.T) {
	testmode.Long(t)
	started := time.Now()
	f := startFleet(t)
	t.Run("commands", func(t *testing.T) { runCommands(t, f) })
	go f.shop.report(t.Context())

	t.Run("stages", f.stages)
	for _, s := range []shares{{}, {sell: 50}, {sell: 100}} {
		t.Run(fmt.Sprintf("unlocked-%d", s.sell), func(t *testing.T) {
			f.set(t, s)
			f.run(t, sale(t, "unlocked"))
			f.mustLose(t)
		})
	}
	t.Run("sold-out", f.soldOut)
	t.Run("busy", f.busy)
	t.Run("other-keys", func(t *testing.T) {
		digest := distlock.Opts{Prefix: "shop-", Value: "stock", ParamLock: true}
		aspect := f.shop.under["aspect"]
		aspect.sell = distlock.Wrap(f.shop.locker, f.shop.books.sell, digest)
		f.serve(t, &shop{under: map[string]methods{"aspect": aspect}})
		f.set(t, shares{sell: 50})
		f.run(t, sale(t, "aspect"))
		f.mustLose(t)
	})
	t.Run("Spring-is-stopped", func(t *testing.T) {
		f.jvm.Kill()
		f.serve(t, f.shop)
		f.set(t, shares{100, 100, 100})
		f.run(t, order(t, "aspect"))
		f.mustBeExact(t, "Spring is stopped")
	})
	t.Run("report", func(t *testing.T) { f.reports(t, started) })
}

// stages runs the load at every stage, and compares the counts with those of the page.
func (f *fleet) stages(t *testing.T) {
	table := fmt.Sprintf("%-27s%8s%8s%16s%16s%13s\n", "", "Spring", "Go", "warehouse 1", "warehouse 2", "ledger")
	for _, m := range moves {
		for _, s := range m.stages {
			f.set(t, s.shares)
			l := f.run(t, order(t, m.lock))
			table += fmt.Sprintf("%-10s%-17s%8d%8d%16d%16d%13d\n", m.lock, s.name, l.spring.Load(), l.golang.Load(), f.left(t, items[0]), f.left(t, items[1]), f.booked(t))
			f.mustBeExact(t, m.lock+", "+s.name)
		}
	}
	checkTable(t, table)
}

// mustBeExact checks the result of the load of [order], at a stage.
func (f *fleet) mustBeExact(t *testing.T, at string) {
	t.Helper()
	for _, i := range items {
		sold := orders / len(items)
		if got, want := f.left(t, i), stock-sold+sold/2*restock; got != want {
			t.Errorf("%s: %d pieces of %v are left, not %d", at, got, i, want)
		}
	}
	if got := f.booked(t); got != orders {
		t.Errorf("%s: %d of %d orders are in the ledger once", at, got, orders)
	}
}

// mustLose checks that the load of [sale] has lost updates.
func (f *fleet) mustLose(t *testing.T) {
	t.Helper()
	lost := f.left(t, items[0]) - (stock - orders)
	t.Logf("%d of %d sales are lost", lost, orders)
	if lost <= 0 {
		t.Error("the test does not notice a missing lock")
	}
}

// soldOut: the aspect swallows the exception of the method, so Spring answers 200.
func (f *fleet) soldOut(t *testing.T) {
	if err := f.rdb.Set(t.Context(), items[0].key(), 0, 0).Err(); err != nil {
		t.Fatal(err)
	}
	for percent, want := range map[int]int{0: http.StatusOK, 100: http.StatusConflict} {
		f.set(t, shares{sell: percent})
		if a := f.request(t, http.MethodPost, "/aspect/sell", items[0].query()); a.status != want {
			t.Errorf("%s answers %d %s", a.side, a.status, a.body)
		}
	}
}

// reports checks the job, which every instance starts ten times a second: it has run at
// most once a second, in Spring as long as it was alone, and in Go now.
func (f *fleet) reports(t *testing.T, started time.Time) {
	ctx := t.Context()
	before, err := f.rdb.LRange(ctx, "reports", 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	if most := int(time.Since(started)/time.Second) + 2; len(before) > most || before[0] != "java" {
		t.Errorf("%d reports, at most %d expected, the first one by Spring: %q", len(before), most, before)
	}
	// One run more. The lease of a run that was killed with the JVM may have to end first.
	if err := f.rdb.Del(ctx, "reports").Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := f.rdb.BLPop(ctx, 30*time.Second, "reports").Result(); err != nil || got[1] != "go" {
		t.Errorf("after Spring has ended: %q, %v", got, err)
	}
}
