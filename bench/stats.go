package main

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Times are measured in whole microseconds, from one to ten minutes, and kept
// with three significant digits.
const (
	shortest = time.Microsecond
	longest  = 10 * time.Minute
	digits   = 3
)

// tally is the statistics of samples. It is not safe for concurrent use.
type tally struct {
	hist        *hdrhistogram.Histogram
	samples     int64
	errors      int64
	sum         time.Duration
	min, max    time.Duration
	first, last time.Time // when the first sample began and the last one ended
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

// merge adds what o counted.
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

// percentile is a time that so many percent of the samples did not exceed.
func (t *tally) percentile(p float64) time.Duration {
	d := time.Duration(t.hist.ValueAtPercentile(p)) * time.Microsecond
	return min(max(d, t.min), t.max) // which are exact
}

func (t *tally) errorPercent() float64 {
	if t.samples == 0 {
		return 0
	}
	return 100 * float64(t.errors) / float64(t.samples)
}

// throughput is samples per second from the beginning of the first to the end
// of the last, as in JMeter: ramp-up and think time are in it.
func (t *tally) throughput() float64 {
	span := t.last.Sub(t.first)
	if span <= 0 {
		return 0
	}
	return float64(t.samples) / span.Seconds()
}

// recorder is a tally for many users at once. They are spread over shards: one
// lock for all would be what they wait for, and a histogram for each user would
// take 150 KB times a thousand.
type recorder struct {
	shards [16]struct {
		mu    sync.Mutex
		tally *tally
		_     [48]byte // a cache line each
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

// total is the tally of all users.
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
