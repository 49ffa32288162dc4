package main

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/redistest"
	"github.com/distlock-go/distlock/internal/testmode"
)

// knownLoad is a load on a service, and what the clients know of it.
type knownLoad struct {
	*client
	redis *redistest.Server
	db    string

	mu          sync.Mutex
	taken       int // locks that were granted
	reentered   int // orders under their lock: the route takes it, and the shop enters again
	busy        int // orders whose wait was over
	unavailable int // orders without an answer of the store
	lost        int // orders whose lease was lost
}

// order orders one piece, and counts by the answer what the lock has done.
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
	case "", "sold_out":
		l.taken++
		l.reentered++
	case httpmw.TypeLost:
		l.taken++
		l.reentered++
		l.lost++
	case httpmw.TypeBusy:
		l.busy++
	case httpmw.TypeUnavailable:
		l.unavailable++
	default:
		t.Errorf("%d %s", a.status, a.body)
	}
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
	const orders = 10
	l.restart(t, "tea", pieces)
	release := (&lockStore{client: l.redis.Client(t)}).hold(t, "tea")
	var all sync.WaitGroup
	for range orders {
		all.Go(func() { l.order(t, "tea") })
	}
	eventually(t, "all orders wait", func() bool { return l.metrics(t).of("distlock_waiting", "") == orders })
	release()
	all.Wait()
}

// timeout lets an order wait in vain for a lock that another program holds.
func (l *knownLoad) timeout(t *testing.T) {
	t.Helper()
	release := (&lockStore{client: l.redis.Client(t)}).hold(t, "tea")
	l.order(t, "tea")
	release()
}

// outage stops the store of the locks while an order hangs in the database, until its
// lease is lost. Two others do not get their lock. It calls during when one lock is held
// and two orders wait.
func (l *knownLoad) outage(t *testing.T, during func()) {
	t.Helper()
	tx, err := openTestStore(t, l.db).write.BeginTx(t.Context(), nil) // takes the write lock
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() { l.order(t, "tea") })
	eventually(t, "the order holds the lock", func() bool { return l.metrics(t).of("distlock_held", "") == 1 })
	end := l.redis.Pause(t, time.Minute)
	var refused sync.WaitGroup
	for range 2 {
		refused.Go(func() { l.order(t, "coffee") })
	}
	eventually(t, "both wait", func() bool { return l.metrics(t).of("distlock_waiting", "") == 2 })
	during()
	eventually(t, "the lease is lost", func() bool { return l.metrics(t).of("distlock_losses_total", "") == 1 })
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	refused.Wait()
	end()
	all.Wait()
}

// check compares /metrics with what the clients know.
func (l *knownLoad) check(t *testing.T) {
	t.Helper()
	m := l.metrics(t)
	const wait, hold, renewals = "distlock_wait_duration_seconds_count", "distlock_hold_duration_seconds_count", "distlock_renewals_total"
	acquired, handedOver := m.of(wait, "acquired"), m.of(wait, "handed_over")
	if acquired < 1 || handedOver < 1 {
		t.Errorf("%v acquired, %v handed over", acquired, handedOver)
	}
	total := 0.0
	for id, n := range m {
		if strings.HasPrefix(id, wait+"{") {
			total += n
		}
	}
	for _, c := range []struct {
		what string
		got  float64
		want int
	}{
		{"acquired and handed over", acquired + handedOver, l.taken},
		{"reentered", m.of(wait, "reentered"), l.reentered},
		{"not acquired", m.of(wait, "not_acquired"), l.busy},
		{"unavailable", m.of(wait, "unavailable"), l.unavailable},
		{"all waits", total, l.taken + l.reentered + l.busy + l.unavailable},
		{"released", m.of(hold, "released"), l.taken - l.lost},
		{"lost", m.of(hold, "lost"), l.lost},
		{"losses", m.of("distlock_losses_total", ""), l.lost},
		{"waiting", m.of("distlock_waiting", ""), 0},
		{"held", m.of("distlock_held", ""), 0},
	} {
		if c.got != float64(c.want) {
			t.Errorf("%s: %v, the clients know of %d", c.what, c.got, c.want)
		}
	}
	if failed := m.of(renewals, "failed"); (failed > 0) != (l.lost > 0) {
		t.Errorf("%v renewals failed, and %d leases were lost", failed, l.lost)
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
		l.check(t)
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
		// It has seen all series but one, so it sees them rise.
		l.sale(t, "20")
		l.outage(t, func() {
			p.readAgain(t)
			checkPanels(t, p, map[string]float64{"Held": 1, "Waiting": 2})
		})
		l.check(t)
		if l.unavailable != 2 || l.lost != 1 {
			t.Errorf("%d without an answer of the store, %d lost", l.unavailable, l.lost)
		}
		p.readAgain(t)
		p.readAgain(t) // an increase needs two values
		checkPanels(t, p, map[string]float64{"Held": 0, "Waiting": 0})
		t.Run("dashboard", func(t *testing.T) { checkDashboard(t, p, l.metrics(t)) })
		t.Run("alerts", func(t *testing.T) { checkAlerts(t, p, l.metrics(t)) })
	})
}
