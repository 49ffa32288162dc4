package promlock_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/internal/test/knownrun"
	"github.com/distlock-go/distlock/telemetry/promlock"
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

// One Collector counts the locks of several Lockers, and a lock with metrics needs at most
// two allocations more.
func TestTwoLockers(t *testing.T) {
	c := promlock.New()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	for range 2 {
		locked(t, c.Hooks())()
	}
	if got := lines(t, registry); !slices.ContainsFunc(got, func(line string) bool {
		return strings.HasPrefix(line, "distlock_hold_duration_seconds shop:pay exclusive released 2 ")
	}) {
		t.Errorf("got %q", got)
	}
	off := testing.AllocsPerRun(1000, locked(t, distlock.Hooks{}))
	if on := testing.AllocsPerRun(1000, locked(t, c.Hooks())); on > off+2 {
		t.Errorf("%v allocations with metrics, %v without", on, off)
	}
}

// locked returns a function that takes a lock and releases it.
func locked(t *testing.T, h distlock.Hooks) func() {
	t.Helper()
	l := distlock.New(memlock.New(), distlock.Config{Hooks: h})
	t.Cleanup(func() { _ = l.Close() })
	return func() {
		lease, err := l.Acquire(t.Context(), "7", distlock.Opts{Prefix: "shop:", Value: "pay"})
		if err != nil {
			t.Fatal(err)
		}
		_ = lease.Release(t.Context())
	}
}
