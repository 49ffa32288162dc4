package promlock

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/lockmetrics"
)

// Collector collects the metrics of one or more Lockers: see the table of the package. It is
// safe for concurrent use.
type Collector struct {
	waiting, held    *prometheus.GaugeVec
	waited, heldFor  *prometheus.HistogramVec
	renewals, losses *prometheus.CounterVec
	hooks            distlock.Hooks
}

var _ prometheus.Collector = (*Collector)(nil)

// New returns a Collector. Register it once, and give its Hooks to each Locker.
func New() *Collector {
	labels := []string{"distlock_name", "distlock_mode"}
	withOutcome := []string{"distlock_name", "distlock_mode", "distlock_outcome"}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: lockmetrics.Buckets()}, withOutcome)
	}
	counter := func(name, help string, labels []string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	c := &Collector{
		waiting:  gauge("distlock_waiting", lockmetrics.WaitingText),
		held:     gauge("distlock_held", lockmetrics.HeldText),
		waited:   histogram("distlock_wait_duration_seconds", lockmetrics.WaitText),
		heldFor:  histogram("distlock_hold_duration_seconds", lockmetrics.HoldText),
		renewals: counter("distlock_renewals_total", lockmetrics.RenewalsText, withOutcome),
		losses:   counter("distlock_losses_total", lockmetrics.LossesText, labels),
	}
	c.hooks = lockmetrics.Hooks(func(name, mode string) lockmetrics.Series { return c.series(name, mode) })
	return c
}

// Hooks returns the hooks that fill c, for the Config of one or more Lockers.
func (c *Collector) Hooks() distlock.Hooks { return c.hooks }

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, family := range c.families() {
		family.Describe(ch)
	}
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	for _, family := range c.families() {
		family.Collect(ch)
	}
}

func (c *Collector) families() []prometheus.Collector {
	return []prometheus.Collector{c.waiting, c.held, c.waited, c.heldFor, c.renewals, c.losses}
}

// series has the metrics of one name and mode.
type series struct {
	waiting, held   prometheus.Gauge
	waited, heldFor histograms
	renewed, failed prometheus.Counter
	losses          prometheus.Counter
}

// series returns the metrics of a name and mode. Those that an alert may watch are there
// from the beginning, with 0, because Prometheus sees no increase in the first value of a
// series.
func (c *Collector) series(name, mode string) *series {
	return &series{
		waiting: c.waiting.WithLabelValues(name, mode),
		held:    c.held.WithLabelValues(name, mode),
		waited:  histograms{vec: c.waited, name: name, mode: mode},
		heldFor: histograms{vec: c.heldFor, name: name, mode: mode},
		renewed: c.renewals.WithLabelValues(name, mode, lockmetrics.Renewed.String()),
		failed:  c.renewals.WithLabelValues(name, mode, lockmetrics.Failed.String()),
		losses:  c.losses.WithLabelValues(name, mode),
	}
}

func (s *series) Waiting(n int64) { s.waiting.Add(float64(n)) }

func (s *series) Held(n int64) { s.held.Add(float64(n)) }

func (s *series) Waited(_ context.Context, d time.Duration, o lockmetrics.Outcome) {
	s.waited.of(o).Observe(d.Seconds())
}

func (s *series) HeldFor(_ context.Context, d time.Duration, o lockmetrics.Outcome) {
	s.heldFor.of(o).Observe(d.Seconds())
}

func (s *series) Renewal(o lockmetrics.Outcome) {
	if o == lockmetrics.Failed {
		s.failed.Inc()
	} else {
		s.renewed.Inc()
	}
}

func (s *series) Loss() { s.losses.Inc() }

// histograms has a histogram for each outcome, made when it is first used: each is many
// series.
type histograms struct {
	vec        *prometheus.HistogramVec
	name, mode string
	made       [lockmetrics.Outcomes]atomic.Pointer[prometheus.Observer]
}

func (h *histograms) of(o lockmetrics.Outcome) prometheus.Observer {
	if made := h.made[o].Load(); made != nil {
		return *made
	}
	made := h.vec.WithLabelValues(h.name, h.mode, o.String()) // the same one, if two callers come here
	h.made[o].Store(&made)
	return made
}
