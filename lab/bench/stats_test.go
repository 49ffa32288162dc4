package main

import (
	"errors"
	"math"
	"testing"
	"time"
)

func TestStatistics(t *testing.T) {
	t.Parallel()
	// 1,000 ms to 1 ms, every tenth failed, one beginning every 2 ms.
	samples := make([]sample, 1000)
	start := time.Now()
	for i := range samples {
		samples[i].start, samples[i].elapsed = start.Add(time.Duration(i)*2*time.Millisecond), time.Duration(1000-i)*time.Millisecond
		if i%10 == 0 {
			samples[i].err = errors.New("oh no")
		}
	}
	got := statsOf(samples)
	if got.errorPercent() != 10 || got.mean() != 500_500*time.Microsecond {
		t.Errorf("%v %% errors, mean %v: want 10, 500.5ms", got.errorPercent(), got.mean())
	}
	for p, want := range map[float64]int{0: 1, 50: 500, 90: 900, 95: 950, 99: 990, 100: 1000} {
		if d := got.percentile(p); d != time.Duration(want)*time.Millisecond {
			t.Errorf("%v %%: %v, want %d ms", p, d, want)
		}
	}
	// The last sample began at 1998 ms and took 1 ms.
	if want := 1000 / 1.999; math.Abs(got.throughput()-want) > 1e-9 {
		t.Errorf("throughput %v, want %v", got.throughput(), want)
	}
	if empty := statsOf(nil); empty.mean() != 0 || empty.percentile(99) != 0 || empty.throughput() != 0 || empty.errorPercent() != 0 {
		t.Error("no samples: want zeros")
	}
}
