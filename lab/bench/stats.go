package main

import (
	"math"
	"slices"
	"time"
)

// sample is what a user did once.
type sample struct {
	err     error // nil: the increment was confirmed
	start   time.Time
	elapsed time.Duration // in whole microseconds
	user    int
}

// stats are the statistics of samples.
type stats struct {
	times       []time.Duration // in order
	errors      int
	sum         time.Duration
	first, last time.Time // start of the first sample and end of the last
}

func statsOf(samples []sample) *stats {
	s := new(stats)
	for _, one := range samples {
		s.times = append(s.times, one.elapsed)
		s.sum += one.elapsed
		if one.err != nil {
			s.errors++
		}
		if s.first.IsZero() || one.start.Before(s.first) {
			s.first = one.start
		}
		if end := one.start.Add(one.elapsed); end.After(s.last) {
			s.last = end
		}
	}
	slices.Sort(s.times)
	return s
}

func (s *stats) mean() time.Duration { return s.sum / time.Duration(max(len(s.times), 1)) }

// percentile returns the shortest time that p percent of the samples did not exceed.
func (s *stats) percentile(p float64) time.Duration {
	if len(s.times) == 0 {
		return 0
	}
	rank := int(math.Ceil(p / 100 * float64(len(s.times))))
	return s.times[max(rank, 1)-1]
}

func (s *stats) errorPercent() float64 {
	return 100 * float64(s.errors) / float64(max(len(s.times), 1))
}

// throughput returns samples per second from the beginning of the first sample to the
// end of the last, as in JMeter: with ramp-up and think time.
func (s *stats) throughput() float64 {
	if len(s.times) == 0 {
		return 0
	}
	return float64(len(s.times)) / s.last.Sub(s.first).Seconds()
}
