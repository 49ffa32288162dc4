package main

import "time"

// A series divides a run into intervals. Its size is fixed: when the run outlasts it,
// pairs of intervals become one.
type series struct {
	start     time.Time
	width     time.Duration // of an interval
	used      int           // number of intervals up to the last with a sample
	intervals [seriesIntervals]interval
}

const (
	seriesIntervals = 200 // even
	seriesWidth     = 100 * time.Millisecond
)

// interval has the samples that ended in it.
type interval struct {
	samples, errors int64
	users           int64 // most that were active when a sample began or ended; 0 if none did
	times           coarseHistogram
}

func newSeries(start time.Time) *series { return &series{start: start, width: seriesWidth} }

// add counts a sample that took d. JMeter, too, counts a sample when it ends.
func (s *series) add(began, ended time.Time, d time.Duration, active int64, ok bool) {
	i := &s.intervals[s.index(ended)]
	i.samples++
	if !ok {
		i.errors++
	}
	i.times.add(d)
	i.users = max(i.users, active)
	first := &s.intervals[s.index(began)]
	first.users = max(first.users, active)
}

// index returns the interval of t, and makes the series reach it.
func (s *series) index(t time.Time) int {
	since := max(t.Sub(s.start), 0)
	for since >= s.width*seriesIntervals {
		s.halve()
	}
	i := int(since / s.width)
	s.used = max(s.used, i+1)
	return i
}

// halve makes one interval of each pair.
func (s *series) halve() {
	s.width *= 2
	for i := range seriesIntervals / 2 {
		pair := s.intervals[2*i : 2*i+2]
		if i > 0 {
			s.intervals[i] = pair[0]
		}
		s.intervals[i].merge(&pair[1])
	}
	clear(s.intervals[seriesIntervals/2:])
	s.used = (s.used + 1) / 2
}

func (i *interval) merge(o *interval) {
	i.samples += o.samples
	i.errors += o.errors
	i.users = max(i.users, o.users)
	i.times.merge(&o.times)
}

// merge adds the samples of o, which has the same start. It may make the intervals of
// both wider.
func (s *series) merge(o *series) {
	for s.width < o.width {
		s.halve()
	}
	for o.width < s.width {
		o.halve()
	}
	s.used = max(s.used, o.used)
	for i := range o.used {
		s.intervals[i].merge(&o.intervals[i])
	}
}

// users returns the number of active users in an interval. If no sample began or ended
// in it, it is that of the interval before.
func (s *series) users(i int) int64 {
	for i > 0 && s.intervals[i].users == 0 {
		i--
	}
	return s.intervals[i].users
}
