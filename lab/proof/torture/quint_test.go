package torture

import (
	"slices"
	"testing"

	"github.com/distlock-go/distlock/lab/spec"
)

// busy makes more of the random steps those of holders.
const busy = "action other = any { process, process, process, process, process, time, fault }"

// TestModelAcceptsSpecification checks that the model allows what processes see in histories of
// lease.qnt, also with a failover, and that it refuses each of them with one change that
// lease.qnt does not allow.
func TestModelAcceptsSpecification(t *testing.T) {
	seen, changed := make(counts), make(counts)
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
			for name, change := range changes {
				h := historyOf(t, s)
				if failovers > 0 || !change(h.byKey(0)) {
					continue
				}
				changed[name]++
				h.findOwners()
				if found, _ := checkModel(h, pieceSize); len(found) == 0 {
					t.Errorf("history %d: %s: not refused", i, name)
				}
			}
		}
	}
	t.Logf("accepted: 300 histories, %v", seen)
	t.Logf("refused after a change: %v", changed)
	if len(seen) < 8 || len(changed) < len(changes) {
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

// changes change a history in one place, if there is one.
var changes = map[string]func([]*lease) bool{
	"a token goes back": after(func(l, before *lease) bool {
		l.Token = before.Token
		return true
	}),
	"granted while another holds": after(func(l, before *lease) bool {
		l.at(before.Acquire.Return + 1)
		from, to := before.believed()
		return l.Acquire.Return < to && from < to
	}),
	"an owner is granted again": after(func(l, before *lease) bool {
		l.Grant = before.Grant
		return !l.Handed
	}),
	"handed over after another was granted": pair(func(l, other *lease) bool {
		if !l.Handed || l.owner() == other.owner() || other.Acquire.Return < l.Acquire.Return || other.Release == nil {
			return false
		}
		l.at(max(other.Release.Call, other.Until) + ms)
		l.Token, l.Uses, l.Release, l.Renewals = other.Token+1, nil, nil, nil
		return true
	}),
	"released after another was granted": pair(func(l, other *lease) bool {
		if l.Release == nil || l.Release.Outcome != ok || other.owner() == l.owner() || other.Acquire.Return < l.Release.Return {
			return false
		}
		l.Release.Call, l.Release.Return = other.Acquire.Return+1, other.Acquire.Return+1
		return true
	}),
	"renewed after its release": one(func(l *lease) bool {
		if l.Release == nil || l.Release.Outcome != ok {
			return false
		}
		at := l.Release.Return + 1
		l.Renewals = append(l.Renewals, &operation{Call: at, Return: at, Outcome: ok})
		return true
	}),
	"not renewed while it holds": one(func(l *lease) bool {
		l.LostSeen = l.Acquire.Return + 1
		_, to := l.believed()
		return l.LostSeen == to
	}),
	"a write with the newest token is refused, or another is not": one(func(l *lease) bool {
		if len(l.Uses) == 0 {
			return false
		}
		l.Uses[0].Outcome = map[outcome]outcome{ok: failed, failed: ok}[l.Uses[0].Outcome]
		return true
	}),
}

// at moves the grant of a lease.
func (l *lease) at(t int64) { l.Sent, l.Acquire.Call, l.Acquire.Return = t, t, t }

// one changes the first lease that can be changed; pair the first of a pair, and after
// the second of two that were granted one after the other.
func one(change func(l *lease) bool) func([]*lease) bool {
	return pair(func(l, _ *lease) bool { return change(l) })
}

func after(change func(l, before *lease) bool) func([]*lease) bool {
	return pair(func(l, o *lease) bool { return o.Acquire.Return < l.Sent && o.owner() != l.owner() && change(l, o) })
}

func pair(change func(l, other *lease) bool) func([]*lease) bool {
	return func(ls []*lease) bool {
		for _, l := range ls {
			for _, o := range ls {
				before := *l
				if l != o && change(l, o) {
					return true
				}
				*l = before
			}
		}
		return false
	}
}
