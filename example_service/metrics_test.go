package main

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/redistest"
	"github.com/distlock-go/distlock/internal/testkit"
	"github.com/distlock-go/distlock/internal/testmode"
)

// The series that the tests read.
const (
	waits    = "distlock_wait_duration_seconds_count"
	holds    = "distlock_hold_duration_seconds_count"
	renewals = "distlock_renewals_total"
	losses   = "distlock_losses_total"
	waiting  = "distlock_waiting"
	held     = "distlock_held"
)

// knownLoad is a load on a service, and what the clients know of it. How long a step
// takes does not matter: the clients count by the answers what the locks have done.
type knownLoad struct {
	*client
	redis *redistest.Server
	db    string

	mu          sync.Mutex
	taken       int // locks that were granted
	reentered   int // orders under their lock: the route takes it, and the shop enters again
	busy        int // orders that waited too long
	unavailable int // orders without an answer of the store
}

// order orders one piece.
func (l *knownLoad) order(t *testing.T, sku string) {
	a, err := l.do(t.Context(), "POST", "/items/"+sku+"/orders", order1)
	if err != nil {
		t.Error(err)
		return
	}
	kind := ""
	if a.status != http.StatusCreated {
		kind = a.problem(t).Type
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch kind {
	case "", "sold_out", "database_unavailable", httpmw.TypeLost:
		l.taken++
		l.reentered++
	case httpmw.TypeBusy:
		l.busy++
	case httpmw.TypeUnavailable:
		l.unavailable++
	default:
		t.Errorf("%d %s", a.status, a.body)
	}
}

// batch are orders that begin together.
type batch struct {
	sync.WaitGroup
	left atomic.Int64 // without an answer
}

// begin begins n orders, and waits until a gauge is n or an order has ended already.
func (l *knownLoad) begin(t *testing.T, n int64, sku, gauge string) *batch {
	t.Helper()
	b := &batch{}
	b.left.Store(n)
	for range n {
		b.Go(func() {
			defer b.left.Add(-1)
			l.order(t, sku)
		})
	}
	testkit.Eventually(t, gauge, func() bool { return l.metrics(t).of(gauge, "") == float64(n) || b.left.Load() < n })
	return b
}

// restart starts a sale. PUT leaves the lock to the shop.
func (l *knownLoad) restart(t *testing.T, sku, stock string) {
	t.Helper()
	l.must(t, http.StatusOK, "PUT", "/items/"+sku, `{"stock":`+stock+`}`)
	l.taken++
}

// sale lets ten orders wait for a lock that another program holds, and then compete for
// the pieces.
func (l *knownLoad) sale(t *testing.T, pieces string) {
	t.Helper()
	l.restart(t, "tea", pieces)
	release := (&lockStore{client: l.redis.Client(t)}).hold(t, "tea")
	orders := l.begin(t, 10, "tea", waiting)
	release()
	orders.Wait()
}

// timeout lets an order wait in vain for a lock that another program holds.
func (l *knownLoad) timeout(t *testing.T) {
	t.Helper()
	release := (&lockStore{client: l.redis.Client(t)}).hold(t, "tea")
	l.order(t, "tea")
	release()
}

// hang begins an order that holds its lock and hangs in the database, until the returned
// function is called.
func (l *knownLoad) hang(t *testing.T) (order *batch, end func()) {
	t.Helper()
	tx, err := openTestStore(t, l.db).write.BeginTx(t.Context(), nil) // takes the write lock
	if err != nil {
		t.Fatal(err)
	}
	order = l.begin(t, 1, "tea", held)
	return order, func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
		order.Wait()
	}
}

// gauges calls check while one order holds the lock and two wait for it, as often as it
// takes until that was so all the time.
func (l *knownLoad) gauges(t *testing.T, check func() error) {
	t.Helper()
	for {
		_, end := l.hang(t)
		orders := l.begin(t, 2, "tea", waiting)
		err := check()
		m := l.metrics(t)
		end()
		orders.Wait()
		if m.of(held, "") == 1 && m.of(waiting, "") == 2 {
			if err != nil {
				t.Error(err)
			}
			return
		}
	}
}

// outage stops the store of the locks while an order hangs, until its lease is lost and
// another order was refused.
func (l *knownLoad) outage(t *testing.T) {
	t.Helper()
	for m := l.metrics(t); m.of(losses, "") == 0 || m.of(renewals, "failed") == 0 || m.of(waits, "unavailable") == 0; m = l.metrics(t) {
		order, end := l.hang(t)
		resume := l.redis.Pause(t, time.Minute)
		l.order(t, "coffee")
		testkit.Eventually(t, "the lease is lost", func() bool { return l.metrics(t).of(losses, "") > 0 || order.left.Load() == 0 })
		end()
		resume()
	}
}

// check compares /metrics with what the clients know, and the log.
func (l *knownLoad) check(t *testing.T, s *service) {
	t.Helper()
	m := l.metrics(t)
	acquired, handedOver := m.of(waits, "acquired"), m.of(waits, "handed_over")
	if acquired < 1 || handedOver < 1 {
		t.Errorf("%v acquired, %v handed over", acquired, handedOver)
	}
	total := 0.0
	for id, n := range m {
		if strings.HasPrefix(id, waits+"{") {
			total += n
		}
	}
	lost := s.logged("lock lost")
	for _, c := range []struct {
		what string
		got  float64
		want int
	}{
		{"acquired and handed over", acquired + handedOver, l.taken},
		{"reentered", m.of(waits, "reentered"), l.reentered},
		{"not acquired", m.of(waits, "not_acquired"), l.busy},
		{"unavailable", m.of(waits, "unavailable"), l.unavailable},
		{"all waits", total, l.taken + l.reentered + l.busy + l.unavailable},
		{"released", m.of(holds, "released"), l.taken - lost},
		{"lost", m.of(holds, "lost"), lost},
		{"losses", m.of(losses, ""), lost},
		{"waiting", m.of(waiting, ""), 0},
		{"held", m.of(held, ""), 0},
	} {
		if c.got != float64(c.want) {
			t.Errorf("%s: %v, want %d", c.what, c.got, c.want)
		}
	}
}

// TestMetrics reads the metrics of a load that is known, and evaluates each query of the
// dashboard and each alert in a real Prometheus.
func TestMetrics(t *testing.T) {
	testmode.Long(t)
	t.Parallel() // most of its time is waiting
	redis := redistest.Start(t)
	db := filepath.Join(t.TempDir(), "shop.db")
	s := startService(t, "-backend", "redis://"+redis.Addr()+"/0", "-db", db, "-wait", "3s")
	l := &knownLoad{client: newClient(t, s.addresses), redis: redis, db: db}
	var p *prometheusServer
	if bin, err := exec.LookPath("prometheus"); err == nil {
		p = startPrometheus(t, bin, s.http)
	}

	t.Run("the counts are exact", func(t *testing.T) {
		l.restart(t, "coffee", "1")
		l.sale(t, "6")
		l.timeout(t)
		l.check(t, s)
		if l.busy < 1 {
			t.Error("no order timed out")
		}
	})
	if t.Failed() {
		return
	}
	t.Run("Prometheus", func(t *testing.T) {
		program(t, "prometheus")
		p.ready(t)
		l.sale(t, "20") // it has seen the series, so now it sees them rise
		l.gauges(t, func() error {
			p.readAgain(t)
			return checkPanels(t, p, map[string]float64{"Held": 1, "Waiting": 2})
		})
		l.outage(t)
		l.check(t, s)
		p.readAgain(t)
		p.readAgain(t) // an increase needs two values
		if err := checkPanels(t, p, map[string]float64{"Held": 0, "Waiting": 0}); err != nil {
			t.Error(err)
		}
		t.Run("dashboard", func(t *testing.T) { checkDashboard(t, p, l.metrics(t)) })
		t.Run("alerts", func(t *testing.T) { checkAlerts(t, p, l.metrics(t)) })
	})
}
