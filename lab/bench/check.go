package main

import (
	"fmt"
	"math"
)

// check returns an error that names a field and its value if they cannot be those of a
// load. The file may have been edited, and the charts need numbers that make sense.
func (r *jsonReport) check() error {
	seen := map[string]bool{}
	for i := range r.Runs {
		run := &r.Runs[i]
		if run.Lock != "on" && run.Lock != "off" || seen[run.Lock] {
			return fmt.Errorf("lock: %q of run %d, want on or off, each once", run.Lock, i+1)
		}
		seen[run.Lock] = true
		if err := run.check(); err != nil {
			return fmt.Errorf("run %d: %w", i+1, err)
		}
	}
	return nil
}

// bounds keeps the first fault of a run.
type bounds struct{ err error }

// within notes a fault if a value is not from low to high.
func (f *bounds) within(name string, value, low, high float64) {
	if f.err == nil && (value < low || value > high) {
		f.err = fmt.Errorf("%s: %v, want %v to %v", name, value, low, high)
	}
}

func (r *jsonRun) check() error {
	var f bounds
	highest := millis(nextEdge(longest))
	time := func(name string, ms float64) { f.within(name, ms, 0, highest) }
	samples := func(name string, n int64) { f.within(name, float64(n), 0, float64(r.Samples)) }

	f.within("samples", float64(r.Samples), 0, math.MaxInt32)
	samples("errors", r.Errors)
	f.within("expected", float64(r.Expected), float64(r.Samples-r.Errors), float64(r.Samples-r.Errors))
	f.within("cut_short", float64(r.CutShort), 0, math.MaxInt32)
	f.within("throughput_per_s", r.Throughput, 0, math.MaxInt64)
	time("mean_ms", r.Mean)
	time("min_ms", r.Min)
	time("p50_ms", r.P50)
	time("p90_ms", r.P90)
	time("p95_ms", r.P95)
	time("p99_ms", r.P99)
	time("max_ms", r.Max)
	for _, e := range r.Faults {
		samples("error_messages", e.Samples)
	}
	for _, p := range r.Percentiles {
		f.within("percent", p.Percent, 0, 100)
		time("percentiles", p.Time)
	}

	var binned, over int64
	for _, b := range r.Histogram {
		f.within("from_ms", b.From, millis(shortest), highest)
		f.within("to_ms", b.To, b.From, highest)
		samples("histogram", b.Samples)
		binned += b.Samples
	}
	f.within("interval_ms", r.Series.Interval, millis(seriesWidth), math.MaxInt64/1e6)
	f.within("points", float64(len(r.Series.Points)), 0, seriesIntervals)
	for _, p := range r.Series.Points {
		samples("samples of a point", p.Samples)
		samples("errors of a point", p.Errors)
		f.within("users of a point", float64(p.Users), 0, math.MaxInt32)
		time("p50_ms of a point", p.P50)
		time("p99_ms of a point", p.P99)
		over += p.Samples
	}
	f.within("samples in the histogram", float64(binned), float64(r.Samples), float64(r.Samples))
	f.within("samples in the series", float64(over), float64(r.Samples), float64(r.Samples))
	return f.err
}
