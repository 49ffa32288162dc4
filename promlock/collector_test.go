package promlock_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/distlock-go/distlock/internal/lockmetrics/knownrun"
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
