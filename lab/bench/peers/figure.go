package main

import (
	"slices"
	"strings"
	"time"
)

// figure is the result of one peer in one scenario, over all rounds.
type figure struct {
	scenario *scenario
	peer     string
	slices   []*slice
}

// median returns the median over all turns.
func (f *figure) median(value func(*slice) float64) float64 {
	values := make([]float64, len(f.slices))
	for i, s := range f.slices {
		values[i] = value(s)
	}
	return median(values)
}

// worst returns the maximum over all turns.
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

// rates returns how many locks per second were acquired and released, for each round.
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

// waits returns the waiting times of all rounds.
func (f *figure) waits() (h histogram) {
	for _, s := range f.slices {
		h.merge(s.waits)
	}
	return h
}

// handOver returns the median time of a hand-over between processes.
func (f *figure) handOver() time.Duration {
	var h histogram
	for _, s := range f.slices {
		h.merge(s.handOvers)
	}
	return h.quantile(0.5)
}

// longest and mean are the waiting times in a full queue, and patience is longest
// divided by mean.
func longest(s *slice) float64 { return float64(s.full.Max) }
func mean(s *slice) float64    { return float64(s.full.mean()) }
func patience(s *slice) float64 {
	if s.full.N == 0 {
		return 0
	}
	return longest(s) / mean(s)
}

// imbalance returns the largest share of a process divided by the smallest. A process
// without a lock counts as one with a single lock.
func imbalance(s *slice) float64 {
	if len(s.shares) == 0 {
		return 0
	}
	return float64(slices.Max(s.shares)) / float64(max(slices.Min(s.shares), 1))
}

// utilisation returns the part of the time in which the lock was held.
func utilisation(s *slice) float64 {
	if s.span <= 0 {
		return 0
	}
	return float64(s.held) / float64(s.span)
}

// commandsPerLock returns the commands that the server executed for an acquisition, and
// cpuPerLock the CPU time that it used, in microseconds.
func commandsPerLock(s *slice) float64 { return perLock(s, s.server.commands) }
func cpuPerLock(s *slice) float64      { return perLock(s, int64(s.server.cpu)) / 1e3 }

// keysLeft returns how many keys are left, memoryLeft the bytes that are left for each
// lock, and streamPerLock the bytes that were sent to a replica for each lock.
func keysLeft(s *slice) float64      { return float64(s.server.keys) }
func memoryLeft(s *slice) float64    { return perLock(s, s.server.memory) }
func streamPerLock(s *slice) float64 { return perLock(s, s.server.stream) }

func perLock(s *slice, n int64) float64 { return float64(n) / float64(max(s.locks, 1)) }

func overtaking(s *slice) float64 { return float64(s.overtaken.Most) }

// violations returns the number of violations that the registers found.
func (f *figure) violations() (n int64) {
	for _, s := range f.slices {
		n += s.overlaps + s.backwards
	}
	return n
}

// problems returns all error messages, without duplicates.
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
