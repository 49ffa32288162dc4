package main

import (
	"testing"
	"time"
)

// at adds a sample of d that ends at a time after the start of s.
func (s *series) at(end, d time.Duration, active int64, ok bool) {
	ended := s.start.Add(end)
	s.add(ended.Add(-d), ended, d, active, ok)
}

// sums returns the samples and errors of all intervals.
func (s *series) sums() (samples, errors int64) {
	for i := range s.used {
		samples += s.intervals[i].samples
		errors += s.intervals[i].errors
	}
	return samples, errors
}

func TestSeries(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	s := newSeries(time.Now())
	s.at(50*ms, 10*ms, 1, true)
	s.at(99*ms, 20*ms, 3, false)
	s.at(450*ms, 300*ms, 7, true) // began at 150 ms
	s.at(-ms, ms, 1, true)        // a clock that was set back is not a reason to fail
	if s.width != seriesWidth || s.used != 5 {
		t.Fatalf("%d intervals of %v, want 5 of %v", s.used, s.width, seriesWidth)
	}
	for i, want := range []struct{ samples, errors, users int64 }{{3, 1, 3}, {0, 0, 7}, {0, 0, 7}, {0, 0, 7}, {1, 0, 7}} {
		got := s.intervals[i]
		if got.samples != want.samples || got.errors != want.errors || s.users(i) != want.users {
			t.Errorf("interval %d: %d samples, %d errors, %d users, want %v", i, got.samples, got.errors, s.users(i), want)
		}
	}
}

// A run of hours has no more intervals than a short one, and no sample is lost.
func TestLongSeries(t *testing.T) {
	t.Parallel()
	s := newSeries(time.Now())
	const end, step = 7 * time.Hour, 250 * time.Millisecond
	var samples int64
	for at := time.Duration(0); at <= end; at += step {
		s.at(at, time.Millisecond, int64(at/time.Hour)+1, samples%4 != 0)
		samples++
	}
	if got, errors := s.sums(); got != samples || errors != (samples+3)/4 {
		t.Errorf("%d samples, %d errors, want %d and %d", got, errors, samples, (samples+3)/4)
	}
	if want := 204800 * time.Millisecond; s.width != want || s.used != int(end/want)+1 {
		t.Errorf("%d intervals of %v, want %d of %v", s.used, s.width, end/want+1, want)
	}
	for i := range s.used {
		from := time.Duration(i) * s.width
		if want := int64(min(from+s.width-step, end)/time.Hour) + 1; s.users(i) != want {
			t.Errorf("interval at %v: %d users, want %d", from, s.users(i), want)
		}
		if s.intervals[i].times.percentile(50).Round(100*time.Microsecond) != time.Millisecond {
			t.Errorf("interval at %v: median %v", from, s.intervals[i].times.percentile(50))
		}
	}
}

// Series of the same run can have intervals of different widths.
func TestMergeOfSeries(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for name, ends := range map[string][2]time.Duration{
		"second longer": {time.Second, time.Minute},
		"first longer":  {time.Minute, time.Second},
		"none":          {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts, all := [2]*series{newSeries(start), newSeries(start)}, newSeries(start)
			for i, end := range ends {
				for at := time.Duration(0); at < end; at += 10 * time.Millisecond {
					parts[i].at(at, time.Millisecond, 5, true)
					all.at(at, time.Millisecond, 5, true)
				}
			}
			parts[0].merge(parts[1])
			if *parts[0] != *all {
				t.Errorf("%d intervals of %v, want %d of %v and the same samples", parts[0].used, parts[0].width, all.used, all.width)
			}
		})
	}
}
