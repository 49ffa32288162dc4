package main

import (
	"slices"
	"strings"
)

// verdict says how a metric of ours compares.
type verdict struct {
	goal
	id, what     string
	peer         string  // whose metric theirs is
	ours, theirs float64 // medians
	ratio        float64 // the median of the ratios of the rounds; 0: there is none
	halves       []float64
}

// Units as they appear in the table.
const (
	perSecond = "/s"
	micros    = "us"
	millis    = "ms"
	perLock   = "B"
)

// maxNoise is by how much the ratios of the two halves may differ.
const maxNoise = 1.10

func judge(s *scenario, g goal, of map[string]*figure) verdict {
	v := verdict{goal: g, id: s.id + g.suffix, what: s.what}
	if g.what != "" {
		v.what += ": " + g.what
	}
	if g.theirs == nil {
		g.theirs = g.metric
	}
	switch {
	case g.limit > 0:
		g.beside, g.theirs = s.field[0], func(turn) float64 { return g.limit }
	case g.beside == "":
		g.beside = best(of)
	}
	us, others := of[s.field[0]], sum(of, g.beside, g.theirs)
	if us.stopped || others == nil {
		return v
	}
	mine := us.values(g.metric)
	v.peer, v.ours, v.theirs = g.beside, median(mine), median(others)
	if g.limit > 0 {
		v.peer = "limit"
	}
	var ratios []float64
	for i := range min(len(mine), len(others)) {
		if r := over(mine[i], others[i]); r > 0 {
			ratios = append(ratios, r)
		}
	}
	v.ratio = median(ratios)
	if half := len(ratios) / 2; half > 0 {
		v.halves = []float64{median(ratios[:half]), median(ratios[len(ratios)-half:])}
	}
	return v
}

// sum returns a metric of each round, added up over the peers; nil if one of them took no part.
func sum(of map[string]*figure, peers string, m metric) (sums []float64) {
	for i, name := range strings.Split(peers, "+") {
		f, ok := of[name]
		if !ok {
			return nil
		}
		values := f.values(m)
		if i == 0 {
			sums = values
			continue
		}
		sums = sums[:min(len(sums), len(values))]
		for j := range sums {
			sums[j] += values[j]
		}
	}
	return sums
}

// best returns the rival with the most locks per second: of those that finished, or of all if
// none did. A lock in memory does not compare.
func best(of map[string]*figure) string {
	best := new(figure)
	for _, name := range rivals {
		f, ok := of[name]
		if !ok || name == advisory || len(f.rounds) == 0 {
			continue
		}
		if best.peer == "" || best.stopped && !f.stopped || best.stopped == f.stopped && f.median(rate) > best.median(rate) {
			best = f
		}
	}
	return best.peer
}

// met returns what the table says about the goal.
func (v verdict) met() string {
	if v.ratio > 0 && v.ratio >= v.atLeast && (v.atMost == 0 || v.ratio <= v.atMost) {
		return "yes"
	}
	return "no"
}

// noisy reports whether the two halves of the run differ too much to judge.
func (v verdict) noisy() bool {
	return len(v.halves) == 2 && slices.Max(v.halves) > maxNoise*slices.Min(v.halves)
}
