package torture

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
)

// counts counts by name.
type counts map[string]int

func (c counts) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, c[name]))
	}
	return strings.Join(parts, ", ")
}

// report returns a summary of the run.
func (h *history) report(injected map[string]int, vs []violation, pieces int) string {
	operations, notable := make(counts), make(counts)
	var slowest time.Duration
	for _, l := range h.Leases {
		operations["acquire "+string(l.Acquire.Outcome)]++
		use := "write "
		if l.shares() {
			use = "read "
		}
		for _, w := range l.Uses {
			operations[use+string(w.Outcome)]++
		}
		if l.Release != nil {
			operations["release "+string(l.Release.Outcome)]++
		}
		for name, is := range map[string]bool{
			"handed over": l.Handed, "shared": l.Mode == distlock.Shared, "permits": l.Permits > 0,
			"in sets": l.Set != 0, "terms of leaders": l.Leads, "kept for MinHold": h.keptUntil(l) > 0,
		} {
			if is && l.granted() {
				notable[name]++
			}
		}
		if l.LostSeen > 0 {
			notable["told of a loss"]++
		}
		if l.Orphan {
			notable["without the store's data"]++
		}
		if l.Healed && l.granted() {
			slowest = max(slowest, time.Duration(l.Acquire.Return-l.Acquire.Call))
		}
	}
	found := make(counts)
	for _, v := range vs {
		found[v.Check]++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "operations: %v\n", operations)
	fmt.Fprintf(&b, "leases: %v\n", notable)
	fmt.Fprintf(&b, "faults: %v\n", counts(injected))
	fmt.Fprintf(&b, "healed: %d workers served with %d keys each and with all together, the slowest after %v\n", len(h.Workers), h.Keys, slowest.Round(time.Millisecond))
	ended := 0
	for _, end := range h.Ends {
		if end.Said && end.Err == "" {
			ended++
		}
	}
	fmt.Fprintf(&b, "ends: %d of %d processes ended with no goroutine left, %d things left in the store\n", ended, len(h.Ends), len(h.Left))
	names := []string{fmt.Sprintf("model of porcupine in %d pieces", pieces)}
	for _, c := range checks {
		names = append(names, c.name)
	}
	fmt.Fprintf(&b, "checks: %s\n", strings.Join(names, ", "))
	fmt.Fprintf(&b, "violations: %d %v", len(vs), found)
	return b.String()
}
