package main

import (
	"testing"
	"time"
)

func TestCoarseTimes(t *testing.T) {
	t.Parallel()
	last := 0
	for us := int64(1); us <= longest.Microseconds(); us += 1 + us/1000 {
		step := coarseStep(us)
		if step != last && step != last+1 {
			t.Fatalf("%d µs: step %d after %d", us, step, last)
		}
		last = step
		d := time.Duration(us) * time.Microsecond
		if off := (coarseTime(step) - d).Abs(); us < 32 && off != 0 || off > d*32/1000 {
			t.Fatalf("%v is counted as %v", d, coarseTime(step))
		}
	}
	if step := coarseStep(longest.Microseconds()); step >= coarseSteps {
		t.Errorf("the longest time has step %d of %d", step, coarseSteps)
	}
}

func TestCoarsePercentiles(t *testing.T) {
	t.Parallel()
	var h, o coarseHistogram
	if d := h.percentile(50); d != 0 {
		t.Errorf("no samples: %v", d)
	}
	for us := range 10 {
		h.add(time.Duration(us+1) * time.Microsecond)
		o.add(time.Duration(us+11) * time.Microsecond)
	}
	h.merge(&o)
	for p, want := range map[float64]int{0: 1, 5: 1, 50: 10, 95: 19, 99: 20, 100: 20} {
		if d := h.percentile(p); d.Microseconds() != int64(want) {
			t.Errorf("%v %%: %v, want %d µs", p, d, want)
		}
	}
}
