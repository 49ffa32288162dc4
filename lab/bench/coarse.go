package main

import (
	"math/bits"
	"time"
)

// A coarseHistogram counts times of whole microseconds. Up to 31 µs it is exact; from
// there each doubling has 16 steps. Its size is 1.7 KB, a hundredth of the histogram for
// the whole run, so that each interval of a series can have one.
type coarseHistogram [coarseSteps]uint32

const (
	coarseBits  = 4
	coarseSteps = 432 // enough for the longest time
)

// coarseStep returns the step of a time.
func coarseStep(us int64) int {
	doublings := max(bits.Len64(uint64(us))-1-coarseBits, 0)
	return doublings<<coarseBits + int(us>>doublings)
}

// coarseTime returns the middle of a step, which differs from each time in it by at most
// 3.2 %.
func coarseTime(step int) time.Duration {
	if step < 2<<coarseBits {
		return time.Duration(step) * time.Microsecond
	}
	doublings := step>>coarseBits - 1
	low := int64(step-doublings<<coarseBits) << doublings
	return time.Duration(2*low+1<<doublings-1) * time.Microsecond / 2
}

func (h *coarseHistogram) add(d time.Duration) { h[coarseStep(d.Microseconds())]++ }

func (h *coarseHistogram) merge(o *coarseHistogram) {
	for i, n := range o {
		h[i] += n
	}
}

// percentile returns a time that p percent of the samples did not exceed, within the
// precision of the histogram; 0 if there is no sample.
func (h *coarseHistogram) percentile(p float64) time.Duration {
	var samples int64
	for _, n := range h {
		samples += int64(n)
	}
	rank := max(int64(p/100*float64(samples)+0.5), 1)
	var below int64
	for i, n := range h {
		if below += int64(n); below >= rank {
			return coarseTime(i)
		}
	}
	return 0
}
