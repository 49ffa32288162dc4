package torture

import (
	"slices"
	"testing"

	"github.com/distlock-go/distlock/lab/spec"
)

// busy makes more of the random steps those of holders.
const busy = "action other = any { process, process, process, process, process, time, fault }"

// TestModelAcceptsSpecification checks that the model allows what processes see in histories of
// lease.qnt, also with a failover. TestCheckerFinds has histories that it refuses.
func TestModelAcceptsSpecification(t *testing.T) {
	seen := make(counts)
	for failovers := range 2 {
		for i, s := range (spec.Random{Failovers: failovers, Steps: 80, Step: busy, Seed: 26}).Histories(t, 150) {
			h := historyOf(t, s)
			for _, size := range []int{1, pieceSize} {
				if found, _ := checkModel(h, size); len(found) > 0 {
					t.Errorf("history %d with %d failovers: %s", i, failovers, found[0].What)
				}
			}
			for _, l := range h.byKey(0) {
				seen["granted"]++
				seen["renewed"] += len(l.Renewals)
				seen["used"] += len(l.Uses)
				if l.Handed {
					seen["handed over"]++
				}
				if l.LostSeen > 0 {
					seen["lost"]++
				}
				if l.Release != nil {
					seen["released "+string(l.Release.Outcome)]++
				}
			}
		}
	}
	t.Logf("accepted: 300 histories, %v", seen)
	if len(seen) < 8 {
		t.Error("something never happened, which shows nothing")
	}
}

// TestModelRefusesBrokenSpecification leaves out guards of lease.qnt: the model refuses some
// histories, and none in which all is well.
func TestModelRefusesBrokenSpecification(t *testing.T) {
	for off, rule := range map[int]string{
		1: "the resource checks tokens", 5: "a hand-over takes the next token", 15: "an attempt leaves the holder alone",
		16: "a release is the holder's own", 17: "each acquisition has an owner of its own",
	} {
		t.Run(rule, func(t *testing.T) {
			histories := spec.Random{Off: off, Steps: 80, Step: busy, Seed: 26}.Histories(t, 100)
			broken, refused := 0, 0
			for i, s := range histories {
				wrong := slices.ContainsFunc(s, func(step spec.Step) bool { return len(step.Broken) > 0 || strays(step) })
				if wrong {
					broken++
				}
				if found, _ := checkModel(historyOf(t, s), pieceSize); len(found) == 0 {
					continue
				}
				refused++
				if !wrong && off != 17 {
					t.Errorf("history %d is refused, and keeps the promises", i)
				}
			}
			t.Logf("of %d histories, %d break a promise, and %d are refused", len(histories), broken, refused)
			if refused == 0 {
				t.Error("none is refused")
			}
		})
	}
}

// strays reports whether a process trusts a lease that the store does not have (P2).
func strays(s spec.Step) bool {
	for _, p := range s.Procs {
		if p.Phase == "holding" && !p.Paused && s.Store.Holder != p.Owner {
			return true
		}
	}
	return false
}
