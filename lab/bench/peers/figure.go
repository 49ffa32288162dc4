package main

import (
	"slices"
	"time"
)

// figure is the result of one peer in one scenario.
type figure struct {
	scenario *scenario
	peer     string
	rounds   []turn
	spent    time.Duration
	stopped  bool // it did not finish a turn
	problems []string
}

// add adds a turn, or the error that ended it.
func (f *figure) add(round int, t turn, err error) {
	if err != nil {
		t.Finished, t.Problems = false, append(t.Problems, err.Error())
	}
	f.stopped = f.stopped || !t.Finished
	for _, p := range t.Problems {
		if !slices.Contains(f.problems, p) {
			f.problems = append(f.problems, p)
		}
	}
	for len(f.rounds) <= round {
		f.rounds = append(f.rounds, turn{})
	}
	f.rounds[round].then(t)
}

// metric is a value of one round.
type metric func(turn) float64

// values returns a metric of each round.
func (f *figure) values(of metric) []float64 {
	values := make([]float64, len(f.rounds))
	for i, r := range f.rounds {
		values[i] = of(r)
	}
	return values
}

// median returns the median of a metric over the rounds.
func (f *figure) median(of metric) float64 { return median(f.values(of)) }

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// over returns a/b, and 0 if there is no b.
func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// rate is locks per second. The metrics below are in microseconds.
func rate(r turn) float64 { return over(float64(r.Locks), r.Elapsed.Seconds()) }

func timePerLock(r turn) float64 { return over(1e6, rate(r)) }

func clientPerLock(r turn) float64 { return over(inMicros(r.Client), float64(r.Locks)) }

func serverPerLock(r turn) float64 { return over(inMicros(r.Server), float64(r.Locks)) }

func cpuPerLock(r turn) float64 { return clientPerLock(r) + serverPerLock(r) }

var timeToPass = passed(0.5)

// passed returns a quantile of turn.Passed.
func passed(q float64) metric {
	return func(r turn) float64 {
		if len(r.Passed) == 0 {
			return 0
		}
		return inMicros(slices.Sorted(slices.Values(r.Passed))[int(q*float64(len(r.Passed)))])
	}
}

// inBulk returns a value of turn.Bulk.
func inBulk(name string) metric { return func(r turn) float64 { return r.Bulk[name] } }

// longestWait and meanWait are in milliseconds.
func longestWait(r turn) float64 { return inMicros(r.Full.Max) / 1e3 }

func meanWait(r turn) float64 { return mean(r.Full) }

func inMicros(d time.Duration) float64 { return float64(d) / 1e3 }
