package main

import (
	"math"
	"testing"
	"time"
)

func TestStatistics(t *testing.T) {
	t.Parallel()
	// 1 ms to 1,000 ms, every tenth failed, one beginning every 2 ms.
	got := newTally()
	start := time.Now()
	for i := range 1000 {
		got.add(start.Add(time.Duration(i)*2*time.Millisecond), time.Duration(i+1)*time.Millisecond, i%10 != 0)
	}
	if got.samples != 1000 || got.errors != 100 {
		t.Errorf("%d samples, %d errors, want 1000 and 100", got.samples, got.errors)
	}
	if p := got.errorPercent(); p != 10 {
		t.Errorf("%v %% errors, want 10", p)
	}
	if got.min != time.Millisecond || got.max != time.Second || got.mean() != 500_500*time.Microsecond {
		t.Errorf("min %v, max %v, mean %v: want 1ms, 1s, 500.5ms", got.min, got.max, got.mean())
	}
	for p, want := range map[float64]int{50: 500, 90: 900, 95: 950, 99: 990, 100: 1000} {
		want := time.Duration(want) * time.Millisecond
		if d := got.percentile(p); math.Abs(float64(d-want)) > 0.001*float64(want) {
			t.Errorf("%v %%: %v, want %v within three digits", p, d, want)
		}
	}
	// The last sample began at 1998 ms and took 1 s.
	if want := 1000 / 2.998; math.Abs(got.throughput()-want) > 1e-9 {
		t.Errorf("throughput %v, want %v", got.throughput(), want)
	}
}

func TestStatisticsAtTheEnds(t *testing.T) {
	t.Parallel()
	empty := newTally()
	if empty.mean() != 0 || empty.percentile(99) != 0 || empty.throughput() != 0 || empty.errorPercent() != 0 {
		t.Error("no samples: want zeros")
	}
	for elapsed, want := range map[time.Duration]time.Duration{
		0:                       time.Microsecond,
		1400 * time.Nanosecond:  time.Microsecond,
		1600 * time.Nanosecond:  2 * time.Microsecond,
		10 * time.Minute:        10 * time.Minute,
		time.Hour:               10 * time.Minute,
		12345 * time.Nanosecond: 12 * time.Microsecond,
	} {
		one := newTally()
		one.add(time.Now(), elapsed, true)
		if one.min != want || one.max != want || one.mean() != want || one.percentile(50) != want {
			t.Errorf("one sample of %v: min %v, max %v, mean %v, median %v, want %v",
				elapsed, one.min, one.max, one.mean(), one.percentile(50), want)
		}
	}
}

func TestMergeOfRuns(t *testing.T) {
	t.Parallel()
	start := time.Now()
	a, b, all := newTally(), newTally(), newTally()
	b.add(start.Add(time.Second), time.Second, false)
	a.add(start, 2*time.Millisecond, true)
	all.merge(b)
	all.merge(newTally())
	all.merge(a)
	if all.samples != 2 || all.errors != 1 || all.min != 2*time.Millisecond || all.max != time.Second {
		t.Errorf("got %+v", all)
	}
	if all.throughput() != 1 {
		t.Errorf("throughput %v, want 2 samples in 2 s", all.throughput())
	}
}
