package main

import (
	"math"
	"time"
)

// A bin of the latency histogram has the samples that took from or longer and less than
// to.
type bin struct {
	from, to time.Duration
	samples  int64
}

// bins returns the histogram of the samples, from the first to the last bin that has
// any. Its bins are the same for all runs: six for each power of ten, in whole
// microseconds.
func (t *tally) bins() []bin {
	var all []bin
	for _, bar := range t.hist.Distribution() {
		if bar.Count == 0 {
			continue
		}
		d := time.Duration(bar.From) * time.Microsecond
		for len(all) == 0 || d >= all[len(all)-1].to {
			from := binEdge(d)
			if len(all) > 0 {
				from = all[len(all)-1].to
			}
			all = append(all, bin{from: from, to: nextEdge(from)})
		}
		all[len(all)-1].samples += bar.Count
	}
	return all
}

var binSteps = []float64{1, 1.5, 2.2, 3.3, 4.7, 6.8, 10}

// nextEdge returns the first edge above d.
func nextEdge(d time.Duration) time.Duration {
	power := math.Pow10(int(math.Floor(math.Log10(float64(d.Microseconds())) + 1e-9)))
	for _, step := range binSteps {
		if edge := time.Duration(math.Ceil(power*step-1e-9)) * time.Microsecond; edge > d {
			return edge
		}
	}
	panic("bench: a number is larger than ten times its power of ten")
}

// binEdge returns the last edge that is not above d.
func binEdge(d time.Duration) time.Duration {
	edge := shortest
	for next := edge; next <= d; next = nextEdge(next) {
		edge = next
	}
	return edge
}
