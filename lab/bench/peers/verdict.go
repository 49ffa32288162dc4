package main

import (
	"math"
	"slices"
	"strings"
)

// verdict says how a metric of ours compares.
type verdict struct {
	id, what     string
	ours, theirs float64 // medians
	beside       string  // whose
	unit         string
	ratio        float64 // the median of the ratios of the rounds; 0: there is none
	halves       []float64
	goal         goal
}

// Units as they appear in the table.
const (
	perSecond = "/s"
	micros    = "us"
	millis    = "ms"
)

// maxNoise is by how much the ratios of the two halves may differ.
const maxNoise = 1.10

func judge(s *scenario, g goal, of map[string]*figure) verdict {
	v := verdict{id: s.id + g.suffix, what: s.what, unit: g.unit, goal: g}
	if g.what != "" {
		v.what += ": " + g.what
	}
	peer, theirs := g.peer, g.theirs
	if peer == "" {
		peer = ours
	}
	if theirs == nil {
		theirs = g.metric
	}
	us, ok := of[peer]
	beside := g.beside
	if beside == nil {
		beside = best(of)
	}
	if !ok || us.stopped || len(beside) == 0 {
		return v
	}
	mine := us.values(g.metric)
	var sums []float64
	for i, name := range beside {
		f, ok := of[name]
		if !ok {
			return v
		}
		values := f.values(theirs)
		if i == 0 {
			sums = values
			continue
		}
		for j := range min(len(sums), len(values)) {
			sums[j] += values[j]
		}
	}
	v.beside = strings.Join(beside, "+")
	v.ours, v.theirs = median(mine), median(sums)
	var ratios []float64
	for i := range min(len(mine), len(sums)) {
		if r := over(mine[i], sums[i]); r > 0 {
			ratios = append(ratios, r)
		}
	}
	v.ratio = median(ratios)
	if half := len(ratios) / 2; half > 0 {
		v.halves = []float64{median(ratios[:half]), median(ratios[len(ratios)-half:])}
	}
	return v
}

// best returns the rival with the most locks per second: of those that finished, or of all if
// none did.
func best(of map[string]*figure) []string {
	var best *figure
	for _, name := range rivals {
		f, ok := of[name]
		if !ok || name == advisory || len(f.rounds) == 0 {
			continue
		}
		if best == nil || best.stopped && !f.stopped || best.stopped == f.stopped && f.median(rate) > best.median(rate) {
			best = f
		}
	}
	if best == nil {
		return nil
	}
	return []string{best.peer}
}

// met returns what the table says about the goal.
func (v verdict) met() string {
	g := v.goal
	switch {
	case g.atLeast == 0 && g.atMost == 0:
		return ""
	case v.ratio > 0 && v.ratio >= g.atLeast && (g.atMost == 0 || v.ratio <= g.atMost):
		return "yes"
	default:
		return "no"
	}
}

// noisy reports whether the two halves of the run differ too much to judge.
func (v verdict) noisy() bool {
	return len(v.halves) == 2 && math.Max(v.halves[0], v.halves[1]) > maxNoise*slices.Min(v.halves)
}
