package main

import (
	"sync"
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
	d := min(max(elapsed.Round(time.Microsecond), shortest), longest)
	_ = t.hist.RecordValue(d.Microseconds()) // in range
	if !ok {
		t.errors++
	}
	t.extend(1, d, d, d, start, start.Add(elapsed))
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

// recorder is a tally for concurrent users. It is sharded: users would wait for a
// single mutex, and a histogram for each of a thousand users would take 150 KB each.
type recorder struct {
	shards [16]struct {
		mu    sync.Mutex
		tally *tally
		_     [48]byte // each shard has its own cache line
	}
}

func newRecorder() *recorder {
	r := &recorder{}
	for i := range r.shards {
		r.shards[i].tally = newTally()
	}
	return r
}

func (r *recorder) add(user int, start time.Time, elapsed time.Duration, ok bool) {
	s := &r.shards[user%len(r.shards)]
	s.mu.Lock()
	s.tally.add(start, elapsed, ok)
	s.mu.Unlock()
}

// total returns the tally of all users.
func (r *recorder) total() *tally {
	all := newTally()
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		all.merge(s.tally)
		s.mu.Unlock()
	}
	return all
}
