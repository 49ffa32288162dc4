package spec

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"testing"
)

var firstLine = regexp.MustCompile(`(?m)^(\[\w+\].*)$`)

// TestQuint checks the types of the page in Quint, and runs random histories of it: the
// promises hold, and break where they should.
func TestQuint(t *testing.T) {
	if output, err := run(t, ".", program(t), "typecheck", "lease.qnt"); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for name, c := range map[string]struct {
		off, failovers int
		rates, promise string
		breaks         bool
		samples        int
	}{
		"the promises":                         {0, 0, "990, 1000, 1010", "promises", false, 500},
		"the promises, with a failover":        {0, 1, "990, 1000, 1010", "promises", false, 500},
		"a clock that is off by more than 1 %": {0, 0, "980", "P2", true, 20000},
		"no tombstones":                        {19, 0, "1000", "P7", true, 20000},
		"a release of any owner":               {16, 0, "1000", "P6", true, 20000},
		"an attempt that overwrites":           {15, 0, "1000", "P1", true, 20000},
		"an attempt that is not repeatable":    {23, 0, "1000", "P5", true, 20000},
		"a hand-over with the same token":      {5, 0, "1000", "P3", true, 20000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, err := Random{Off: c.off, Failovers: c.failovers, Rates: c.rates}.quint(t, "--invariant="+c.promise, fmt.Sprintf("--max-samples=%d", c.samples))
			said := firstLine.FindString(output)
			if found := err != nil && regexp.MustCompile(`Invariant violated|\[violation\]`).MatchString(output); found != c.breaks || err != nil && !found {
				t.Fatalf("%v\n%s", err, output)
			}
			t.Logf("%s: %s", c.promise, said)
		})
	}
}

// TestHistories reads histories: each step is one of the specification, and the same seed
// gives the same.
func TestHistories(t *testing.T) {
	r := Random{Seed: 7}
	all := r.Histories(t, 3)
	for _, h := range all {
		if len(h) != 41 || len(h[0].Procs) != 2 || h[0].What != "starts" {
			t.Fatalf("%d steps, first %+v", len(h), h[0])
		}
		for i, s := range h[1:] {
			before := h[i]
			switch p, q := before.Procs[s.Proc], s.Procs[s.Proc]; {
			case s.What == "time" && s.Now > before.Now:
			case s.What == "asks" && q.RPC == "try" && q.Owner == p.Owner:
			case s.What == "late" && slices.Contains(before.Late, *s.Arrived):
			case s.What == "time" || s.What == "asks" || s.What == "late":
				t.Errorf("step %d: %+v, after %+v", i, s, before)
			}
		}
	}
	if again := r.Histories(t, 3); !reflect.DeepEqual(again, all) {
		t.Error("the same seed gives other histories")
	}
}
