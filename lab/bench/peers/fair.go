package main

import (
	"slices"
	"time"
)

// fairScenarios are about who gets the lock: goroutines of several processes want one key, and
// hold it for a millisecond.
func fairScenarios() []*scenario {
	fair := scenario{field: []string{ours, direct}, hold: time.Millisecond}
	return []*scenario{
		fair.among("F7.two", "2 goroutines beside 1, each holds for 1 ms", 2, 2),
		fair.among("F7.four", "2 goroutines beside 1, 1 and 1", 4, 2),
		{
			id: "F7.crowd", what: "64 goroutines beside 1: the wait of the one", field: fair.field, procs: 2, first: 64, goroutines: 1, hold: fair.hold,
			goals: []goal{{unit: millis, metric: ofCallers(mean, last), beside: ours, theirs: meanWait, atMost: 1.1}},
		},
	}
}

// among are the goals of fairness between goroutines of several processes.
func (s scenario) among(id, what string, procs, first int) *scenario {
	s.id, s.what, s.procs, s.first, s.goroutines = id, what, procs, first, 1
	s.goals = []goal{
		{what: "most locks of a goroutine, over the fewest", unit: "locks", metric: ofCallers(locks, slices.Max[[]float64]), beside: ours, theirs: ofCallers(locks, slices.Min[[]float64]), atMost: 1.5},
		{suffix: ".wait", what: "longest mean wait, over the shortest", unit: millis, metric: ofCallers(mean, slices.Max[[]float64]), beside: ours, theirs: ofCallers(mean, slices.Min[[]float64]), atMost: 2},
	}
	return &s
}

// ofCallers returns a value of all goroutines, such as the highest.
func ofCallers(of func(spread) float64, pick func([]float64) float64) metric {
	return func(r turn) float64 {
		var values []float64
		for _, c := range r.Callers {
			values = append(values, of(c))
		}
		if values == nil {
			return 0
		}
		return pick(values)
	}
}

func locks(s spread) float64 { return float64(s.N) }

// mean is in milliseconds.
func mean(s spread) float64 { return over(inMicros(s.Sum)/1e3, float64(s.N)) }

func last(values []float64) float64 { return values[len(values)-1] }
