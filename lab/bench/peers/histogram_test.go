package main

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestBuckets(t *testing.T) {
	last := -1
	for d := time.Duration(0); d < time.Hour; d += d/1000 + 1 {
		b := bucket(d)
		if b != last && b != last+1 {
			t.Fatalf("%v is in bucket %d after %d", d, b, last)
		}
		last = b
		if off := (middle(b) - d).Abs(); off > d/128 {
			t.Fatalf("%v is told as %v", d, middle(b))
		}
	}
}

func TestQuantiles(t *testing.T) {
	var all []time.Duration
	var parts [3]histogram
	for i := range 10_000 {
		d := time.Duration(rand.ExpFloat64() * float64(time.Millisecond))
		all = append(all, d)
		parts[i%3].add(d)
	}
	slices.Sort(all)
	var h histogram
	for _, p := range parts {
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var q histogram
		if err := json.Unmarshal(text, &q); err != nil {
			t.Fatal(err)
		}
		h.merge(q)
	}
	for _, q := range []float64{0, 0.5, 0.9, 0.99, 1} {
		want := all[int(q*float64(len(all)-1))]
		if got := h.quantile(q); (got - want).Abs() > want/100 {
			t.Errorf("quantile %v is %v instead of %v", q, got, want)
		}
	}
	if h.N != 10_000 || h.Max != all[len(all)-1] {
		t.Errorf("%d, at most %v", h.N, h.Max)
	}
	var none histogram
	if none.quantile(0.5) != 0 {
		t.Error("an empty histogram has quantiles")
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0}, {[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := median(test.values); got != test.want {
			t.Errorf("median of %v is %v", test.values, got)
		}
	}
}

// The turns of a round count as one.
func TestRates(t *testing.T) {
	f := &figure{}
	for _, s := range []slice{
		{round: 0, locks: 10, elapsed: time.Second},
		{round: 0, locks: 50, elapsed: 2 * time.Second},
		{round: 1, locks: 5, elapsed: time.Second},
		{round: 2, locks: 7, elapsed: time.Second},
		{round: 2, locks: 8, elapsed: time.Second / 2},
	} {
		f.slices = append(f.slices, &s)
	}
	if got := f.rates(); !slices.Equal(got, []float64{20, 5, 10}) {
		t.Errorf("%v", got)
	}
	if got := f.rate(); got != 10 {
		t.Errorf("%v", got)
	}
}
