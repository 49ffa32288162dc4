package main

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Times are whole microseconds up to ten minutes, with three significant digits.
const (
	shortest = time.Microsecond
	longest  = 10 * time.Minute
	digits   = 3
)

// tally has the statistics of samples. It is not safe for concurrent use.
type tally struct {
	hist        *hdrhistogram.Histogram
	samples     int64
	errors      int64
	sum         time.Duration
	min, max    time.Duration
	first, last time.Time // start of the first sample and end of the last
}

func newTally() *tally {
	return &tally{hist: hdrhistogram.New(shortest.Microseconds(), longest.Microseconds(), digits)}
}

// add counts one sample.
func (t *tally) add(start time.Time, elapsed time.Duration, ok bool) {
	d := measured(elapsed)
	_ = t.hist.RecordValue(d.Microseconds()) // in range
	if !ok {
		t.errors++
	}
	t.extend(1, d, d, d, start, start.Add(elapsed))
}

// measured returns the time of a sample as it is counted.
func measured(elapsed time.Duration) time.Duration {
	return min(max(elapsed.Round(time.Microsecond), shortest), longest)
}

// merge adds the samples of o.
func (t *tally) merge(o *tally) {
	if o.samples == 0 {
		return
	}
	t.hist.Merge(o.hist)
	t.errors += o.errors
	t.extend(o.samples, o.sum, o.min, o.max, o.first, o.last)
}

func (t *tally) extend(n int64, sum, least, most time.Duration, first, last time.Time) {
	if t.samples == 0 {
		t.min, t.first = least, first
	}
	t.samples += n
	t.sum += sum
	t.min, t.max = min(t.min, least), max(t.max, most)
	if first.Before(t.first) {
		t.first = first
	}
	if last.After(t.last) {
		t.last = last
	}
}

func (t *tally) mean() time.Duration {
	if t.samples == 0 {
		return 0
	}
	return t.sum / time.Duration(t.samples)
}

// percentile returns a time that p percent of the samples did not exceed.
func (t *tally) percentile(p float64) time.Duration {
	d := time.Duration(t.hist.ValueAtPercentile(p)) * time.Microsecond
	return min(max(d, t.min), t.max) // these are exact
}

func (t *tally) errorPercent() float64 {
	if t.samples == 0 {
		return 0
	}
	return 100 * float64(t.errors) / float64(t.samples)
}

// throughput returns samples per second from the beginning of the first sample to the
// end of the last, as in JMeter: with ramp-up and think time.
func (t *tally) throughput() float64 {
	span := t.last.Sub(t.first)
	if span <= 0 {
		return 0
	}
	return float64(t.samples) / span.Seconds()
}
