package promlock_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/distlock-go/distlock/internal/test/knownrun"
	"github.com/distlock-go/distlock/promlock"
)

func TestKnownRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := promlock.New()
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(c)
		knownrun.Test(t, c.Hooks(), func() []string { return lines(t, registry) })
	})
}

// lines returns a line for each series, with the values of its labels.
func lines(t *testing.T, g prometheus.Gatherer) []string {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, family := range families {
		for _, m := range family.GetMetric() {
			line := family.GetName()
			for _, label := range []string{"distlock_name", "distlock_mode", "distlock_outcome"} {
				for _, pair := range m.GetLabel() {
					if pair.GetName() == label {
						line += " " + pair.GetValue()
					}
				}
			}
			switch {
			case m.GetHistogram() != nil:
				line += fmt.Sprintf(" %d %v", m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum())
			case m.GetCounter() != nil:
				line += fmt.Sprintf(" %v", m.GetCounter().GetValue())
			default:
				line += fmt.Sprintf(" %v", m.GetGauge().GetValue())
			}
			all = append(all, line)
		}
	}
	return all
}

// One Collector counts the locks of several Lockers, and the option sets its buckets.
func TestWithBuckets(t *testing.T) {
	bounds := []float64{1, 2}
	c := promlock.New(promlock.WithBuckets(bounds...))
	bounds[0] = 3 // is not seen
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	for range 2 {
		locked(t, c.Hooks())()
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		h := family.GetMetric()[0].GetHistogram()
		if h == nil {
			continue
		}
		var got []float64
		for _, b := range h.GetBucket() {
			got = append(got, b.GetUpperBound())
		}
		if !slices.Equal(got, []float64{1, 2}) || h.GetSampleCount() != 2 {
			t.Errorf("%s: %d with buckets %v", family.GetName(), h.GetSampleCount(), got)
		}
	}
}

// Bounds that the histograms cannot have are refused at once, not at the first lock.
func TestWrongBuckets(t *testing.T) {
	for want, bounds := range map[string][]float64{
		"promlock: WithBuckets: no bounds":                                nil,
		"promlock: WithBuckets: the bounds are [2 1]: want rising ones":   {2, 1},
		"promlock: WithBuckets: the bounds are [1 1]: want rising ones":   {1, 1},
		"promlock: WithBuckets: the bounds are [NaN]: want rising ones":   {math.NaN()},
		"promlock: WithBuckets: the bounds are [1 NaN]: want rising ones": {1, math.NaN()},
	} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("%v: panic %v, want %s", bounds, got, want)
				}
			}()
			promlock.WithBuckets(bounds...)
		}()
	}
}
