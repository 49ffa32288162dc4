package promlock

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/lockmetrics"
	_ "github.com/distlock-go/distlock/internal/raise-all-modules-together/v0.1" // one version
)

// Collector collects the metrics of one or more Lockers: see the table of the package. It is
// safe for concurrent use.
type Collector struct {
	waits, holds                    *prometheus.HistogramVec
	waiting, held, renewals, losses *prometheus.Desc
	locks                           *lockmetrics.Metrics
}

// New returns a Collector. Register it once, and give its Hooks to each Locker.
func New() *Collector {
	labels := []string{"distlock_name", "distlock_mode"}
	withOutcome := []string{"distlock_name", "distlock_mode", "distlock_outcome"}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: lockmetrics.Buckets()}, withOutcome)
	}
	c := &Collector{
		waits:    histogram("distlock_wait_duration_seconds", lockmetrics.WaitText),
		holds:    histogram("distlock_hold_duration_seconds", lockmetrics.HoldText),
		waiting:  prometheus.NewDesc("distlock_waiting", lockmetrics.WaitingText, labels, nil),
		held:     prometheus.NewDesc("distlock_held", lockmetrics.HeldText, labels, nil),
		renewals: prometheus.NewDesc("distlock_renewals_total", lockmetrics.RenewalsText, withOutcome, nil),
		losses:   prometheus.NewDesc("distlock_losses_total", lockmetrics.LossesText, labels, nil),
	}
	c.locks = lockmetrics.New(observers(c.waits), observers(c.holds))
	return c
}

func observers(vec *prometheus.HistogramVec) lockmetrics.Histogram {
	return func(name, mode, outcome string) lockmetrics.Observe {
		histogram := vec.WithLabelValues(name, mode, outcome)
		return func(_ context.Context, seconds float64) { histogram.Observe(seconds) }
	}
}

// Hooks returns the hooks that fill c, for the Config of one or more Lockers.
func (c *Collector) Hooks() distlock.Hooks { return c.locks.Hooks() }

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	c.waits.Describe(ch)
	c.holds.Describe(ch)
	for _, d := range []*prometheus.Desc{c.waiting, c.held, c.renewals, c.losses} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	c.waits.Collect(ch)
	c.holds.Collect(ch)
	for s := range c.locks.Series() {
		send := func(d *prometheus.Desc, t prometheus.ValueType, n int64, outcome ...string) {
			ch <- prometheus.MustNewConstMetric(d, t, float64(n), append([]string{s.Name, s.Mode}, outcome...)...)
		}
		send(c.waiting, prometheus.GaugeValue, s.Waiting.Load())
		send(c.held, prometheus.GaugeValue, s.Held.Load())
		send(c.renewals, prometheus.CounterValue, s.Renewed.Load(), lockmetrics.Renewed)
		send(c.renewals, prometheus.CounterValue, s.Failed.Load(), lockmetrics.Failed)
		send(c.losses, prometheus.CounterValue, s.Losses.Load())
	}
}
