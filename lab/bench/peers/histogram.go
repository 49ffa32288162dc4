package main

import (
	"math/bits"
	"time"
)

// histogram counts durations in buckets with a width of at most 1/128 of their values.
// The zero histogram is empty. Processes exchange it as JSON.
type histogram struct {
	Counts map[int]int64 `json:",omitempty"` // by bucket
	N      int64
	Max    time.Duration
}

const fineBits = 7 // binary digits of a value after the first

// bucket returns the bucket of d.
func bucket(d time.Duration) int {
	v := uint64(max(d, 0))
	coarse := max(bits.Len64(v)-1-fineBits, 0)
	return coarse<<fineBits + int(v>>coarse)
}

// middle returns the value that stands for bucket b.
func middle(b int) time.Duration {
	if b < 2<<fineBits {
		return time.Duration(b)
	}
	coarse := b>>fineBits - 1
	low := (b - coarse<<fineBits) << coarse
	return time.Duration(low + 1<<coarse/2)
}

func (h *histogram) add(d time.Duration) {
	if h.Counts == nil {
		h.Counts = make(map[int]int64)
	}
	h.Counts[bucket(d)]++
	h.N++
	h.Max = max(h.Max, d)
}

func (h *histogram) merge(o histogram) {
	if h.Counts == nil && o.N > 0 {
		h.Counts = make(map[int]int64, len(o.Counts))
	}
	for b, n := range o.Counts {
		h.Counts[b] += n
	}
	h.N += o.N
	h.Max = max(h.Max, o.Max)
}

// quantile returns the duration that the fraction q of all values does not exceed, or 0
// if the histogram is empty.
func (h *histogram) quantile(q float64) time.Duration {
	if h.N == 0 {
		return 0
	}
	rank := int64(q*float64(h.N-1)) + 1
	seen := int64(0)
	for b := 0; ; b++ {
		if seen += h.Counts[b]; seen >= rank {
			return min(middle(b), h.Max)
		}
	}
}
