package main

import (
	"testing"
	"time"
)

func TestBins(t *testing.T) {
	t.Parallel()
	if b := newTally().bins(); b != nil {
		t.Errorf("no samples: %v", b)
	}
	const us = time.Microsecond
	all := newTally()
	for _, d := range []time.Duration{us, us, 4 * us, 9 * us, 10 * us, 14 * us, 15 * us, longest} {
		all.add(time.Now(), d, true)
	}
	samples := map[time.Duration]int64{us: 2, 4 * us: 1, 7 * us: 1, 10 * us: 2, 15 * us: 1, 470 * time.Second: 1}
	bins := all.bins()
	for i, b := range bins {
		if b.samples != samples[b.from] || i > 0 && b.from != bins[i-1].to || b.to <= b.from {
			t.Errorf("bin %+v, want %d samples", b, samples[b.from])
		}
	}
	if bins[0].from != us || bins[len(bins)-1].to != 680*time.Second {
		t.Errorf("from %v to %v", bins[0].from, bins[len(bins)-1].to)
	}
}
