package main

import (
	"slices"
	"time"
)

// turn is the result of one peer in one turn.
type turn struct {
	locks    int64
	elapsed  time.Duration
	finished bool
	client   time.Duration // CPU time of the processes
	server   time.Duration // CPU time of Redis
	full     spread        // of the last order, while all goroutines were waiting
	samples  []time.Duration
	problems []string
}

// addReport adds the part of one process in an order.
func (t *turn) addReport(o order, r report) {
	t.locks += r.Locks
	t.elapsed = max(t.elapsed, time.Duration(r.End-o.Start))
	t.finished = t.finished && r.Finished
	t.client += r.CPU
	t.full.merge(r.Full)
	t.samples = append(t.samples, r.Samples...)
	if r.Err != "" {
		t.problems = append(t.problems, r.Err)
	}
}

// add adds the result of an order to that of its turn.
func (t *turn) add(o turn) {
	t.locks += o.locks
	t.elapsed += o.elapsed
	t.finished = o.finished
	t.client += o.client
	t.server += o.server
	t.full = o.full
	t.samples = append(t.samples, o.samples...)
	t.problems = append(t.problems, o.problems...)
}

// figure is the result of one peer in one scenario.
type figure struct {
	scenario *scenario
	peer     string
	rounds   [][]turn
	stopped  bool // it did not finish a turn
	problems []string
}

// add adds a turn, or the error that ended it.
func (f *figure) add(round int, t turn, err error) {
	if err != nil {
		t.finished, t.problems = false, append(t.problems, err.Error())
	}
	f.stopped = f.stopped || !t.finished
	for _, p := range t.problems {
		if !slices.Contains(f.problems, p) {
			f.problems = append(f.problems, p)
		}
	}
	for len(f.rounds) <= round {
		f.rounds = append(f.rounds, nil)
	}
	f.rounds[round] = append(f.rounds[round], t)
}

// metric is a value of the turns of one round.
type metric func([]turn) float64

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

func total(r []turn) (sum turn) {
	for _, t := range r {
		sum.add(t)
	}
	return sum
}

// over returns a/b, and 0 if there is no b.
func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// rate is locks per second. The metrics below are in microseconds.
func rate(r []turn) float64 {
	sum := total(r)
	return over(float64(sum.locks), sum.elapsed.Seconds())
}

func timePerLock(r []turn) float64 { return over(1e6, rate(r)) }

func clientPerLock(r []turn) float64 {
	sum := total(r)
	return over(inMicros(sum.client), float64(sum.locks))
}

func serverPerLock(r []turn) float64 {
	sum := total(r)
	return over(inMicros(sum.server), float64(sum.locks))
}

func cpuPerLock(r []turn) float64 { return clientPerLock(r) + serverPerLock(r) }

func medianSample(r []turn) float64 {
	samples := slices.Sorted(slices.Values(total(r).samples))
	if len(samples) == 0 {
		return 0
	}
	return inMicros(samples[len(samples)/2])
}

// longestWait and meanWait are in milliseconds.
func longestWait(r []turn) float64 { return inMicros(total(r).full.Max) / 1e3 }

func meanWait(r []turn) float64 {
	full := total(r).full
	return over(inMicros(full.Sum)/1e3, float64(full.N))
}

func inMicros(d time.Duration) float64 { return float64(d) / 1e3 }
