package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// total adds up reports.
type total struct {
	seeds, violated         int
	virtual                 time.Duration
	leases, losses, refused int
	faults, checks          map[string]int // by name
	first                   *report        // the first with a violation
}

func newTotal() *total { return &total{faults: make(map[string]int), checks: make(map[string]int)} }

func (t *total) add(r *report) {
	t.seeds++
	t.virtual += r.virtual
	operations := r.counts("operations")
	t.leases += operations["acquire ok"]
	t.refused += operations["write failed"] + operations["read failed"]
	t.losses += r.counts("leases")["told of a loss"]
	for name, n := range r.counts("faults") {
		t.faults[name] += n
	}
	if len(r.checks) > 0 {
		t.violated++
		t.checks[r.checks[0]]++
		if t.first == nil {
			t.first = r
		}
	}
}

// String returns a line for each number.
func (t *total) String() string {
	var b strings.Builder
	line := func(what string, value any) { fmt.Fprintf(&b, "%-22s %9v\n", what, value) }
	line("virtual time", t.virtual.Round(time.Second))
	line("leases", t.leases)
	line("losses", t.losses)
	line("refused", t.refused)
	all := 0
	for _, name := range slices.Sorted(maps.Keys(t.faults)) {
		line("  "+name, t.faults[name])
		all += t.faults[name]
	}
	line("faults", all)
	fmt.Fprintf(&b, "seeds with violations: %d of %d", t.violated, t.seeds)
	if t.first != nil {
		fmt.Fprintf(&b, ", the first is %d, found by %v", t.first.seed, t.checks)
	}
	return b.String() + "\n"
}
