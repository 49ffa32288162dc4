package main

import (
	"slices"
	"strings"
	"time"
)

// figure is what one peer came to in one scenario, over all rounds.
type figure struct {
	scenario *scenario
	peer     string
	slices   []*slice
}

// median returns the middle of the values in all turns.
func (f *figure) median(value func(*slice) float64) float64 {
	values := make([]float64, len(f.slices))
	for i, s := range f.slices {
		values[i] = value(s)
	}
	return median(values)
}

// worst returns the largest.
func (f *figure) worst(value func(*slice) float64) float64 {
	w := 0.0
	for _, s := range f.slices {
		w = max(w, value(s))
	}
	return w
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// rates is how many locks were taken and given back in a second, in each round.
func (f *figure) rates() []float64 {
	var rates []float64
	for s := range f.slices {
		if s > 0 && f.slices[s].round == f.slices[s-1].round {
			continue
		}
		var locks int64
		var elapsed time.Duration
		for _, t := range f.slices[s:] {
			if t.round == f.slices[s].round {
				locks, elapsed = locks+t.locks, elapsed+t.elapsed
			}
		}
		rates = append(rates, float64(locks)/elapsed.Seconds())
	}
	return rates
}

func (f *figure) rate() float64 { return median(f.rates()) }

func (f *figure) finished() bool {
	return len(f.slices) > 0 && !slices.ContainsFunc(f.slices, func(s *slice) bool { return !s.finished })
}

// waits are those of all rounds.
func (f *figure) waits() (h histogram) {
	for _, s := range f.slices {
		h.merge(s.waits)
	}
	return h
}

// handOver is the median time from one process to another.
func (f *figure) handOver() time.Duration {
	var h histogram
	for _, s := range f.slices {
		h.merge(s.handOvers)
	}
	return h.quantile(0.5)
}

// longest and mean are the waits of a full queue, and patience is how many times
// the mean the longest was.
func longest(s *slice) float64 { return float64(s.full.Max) }
func mean(s *slice) float64    { return float64(s.full.mean()) }
func patience(s *slice) float64 {
	if s.full.N == 0 {
		return 0
	}
	return longest(s) / mean(s)
}

// imbalance is how many times the share of the one with the least the share of
// the one with the most was. A process that got nothing counts as one with one.
func imbalance(s *slice) float64 {
	if len(s.shares) == 0 {
		return 0
	}
	return float64(slices.Max(s.shares)) / float64(max(slices.Min(s.shares), 1))
}

// utilisation is which part of the time the lock was held.
func utilisation(s *slice) float64 {
	if s.span <= 0 {
		return 0
	}
	return float64(s.held) / float64(s.span)
}

// commandsPerLock is what an acquisition cost the server.
func commandsPerLock(s *slice) float64 { return float64(s.commands) / float64(max(s.locks, 1)) }

func overtaking(s *slice) float64 { return float64(s.overtaken.Most) }

// violations adds up what the registers found.
func (f *figure) violations() (n int64) {
	for _, s := range f.slices {
		n += s.overlaps + s.backwards
	}
	return n
}

// problems lists what went wrong, each only once.
func (f *figure) problems() string {
	all := make(map[string]bool)
	for _, s := range f.slices {
		for p := range s.problems {
			all[p] = true
		}
	}
	list := make([]string, 0, len(all))
	for p := range all {
		list = append(list, p)
	}
	slices.Sort(list)
	return strings.Join(list, "; ")
}
