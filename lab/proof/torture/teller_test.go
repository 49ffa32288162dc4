package torture

import (
	"fmt"
	"testing"

	"github.com/distlock-go/distlock/lab/spec"
)

// teller writes what a process of a history of lease.qnt would write into its journal.
type teller struct {
	journal []entry
	lease   uint64 // number of its acquisition, or 0
	lost    bool   // it was told of its loss
	hit     bool   // its release took effect
}

// historyOf returns the history that the torture would have seen.
func historyOf(tb testing.TB, s spec.History) *history {
	tb.Helper()
	h := newTale().h
	tellers := make(map[int]*teller)
	for c := range s[0].Procs {
		tellers[c] = new(teller)
	}
	var lost window // what the replica does not have
	for i, step := range s[1:] {
		at := int64(step.Now)*ms + int64(i)*1000 // after the step before
		switch step.What {
		case "replicates":
			lost.From = at
		case "fails over":
			lost.To = at
			h.Losses = append(h.Losses, lost)
		}
		for c, k := range tellers {
			if step.Proc == c || step.What == "time" {
				k.follow(at, step, s[i], c)
			}
		}
	}
	for c, k := range tellers {
		if err := h.add(fmt.Sprint(c, ".0"), k.journal, nil); err != nil {
			tb.Fatal(err)
		}
	}
	h.findOwners()
	return h
}

// follow writes what process c learns in a step.
func (k *teller) follow(at int64, step, before spec.Step, c int) {
	was, is, what := before.Procs[c], step.Procs[c], step.What
	until := int64(step.Now)*ms + int64(is.Deadline-is.Clock)*ms/int64(is.Rate)
	switch {
	case what == "begins":
		k.begin(at)
	case was.Phase == "trying" && is.Phase == "holding":
		k.grant(at, is, until, false)
	case what == "writes":
		use := entry{ID: uint64(len(k.journal)), Outcome: failed}
		if is.Tok >= before.Wrote {
			use.Outcome = ok
		}
		k.tell(at, beginUse, use)
		k.tell(at, endUse, use)
	case what == "hands over":
		k.tell(at, beginRelease, entry{Until: until})
		k.release(at+1, ok)
		k.begin(at + 2)
		k.grant(at+3, is, until, true)
	case what == "hears" && was.Phase == "holding" && is.Phase == "holding":
		k.tell(at, sawUntil, entry{Until: until})
	case what == "crashes", was.Phase == "trying" && is.Phase == "leaving":
		k.lease = 0 // nothing more is to be told
	case was.Phase == "holding" && is.Phase == "leaving":
		if k.lost = what != "ends"; k.lost {
			k.tell(at, sawLoss, entry{})
			until = 0
		}
		k.tell(at, beginRelease, entry{Until: until})
	case k.lease == 0 || was.RPC != "release":
	case what == "is answered": // a real store says whether there was something to release
		k.hit = before.Store.Holder == is.Owner
	case what == "hears nothing":
		k.release(at, unknown)
	case what == "hears" && k.hit && !k.lost:
		k.release(at, ok)
	case what == "hears":
		k.release(at, failed)
	}
}

func (k *teller) tell(at int64, what string, e entry) {
	e.Time, e.What, e.Lease, e.TTL = at, what, k.lease, 10_000*ms
	k.journal = append(k.journal, e)
}

func (k *teller) begin(at int64) {
	*k = teller{journal: k.journal, lease: uint64(len(k.journal) + 1)}
	k.tell(at, beginAcquire, entry{})
}

func (k *teller) grant(at int64, p spec.Process, until int64, handed bool) {
	k.tell(at, endAcquire, entry{Outcome: ok, Token: uint64(p.Tok), Grant: fmt.Sprint(p.Owner), Handed: handed, Until: until})
}

func (k *teller) release(at int64, o outcome) {
	k.tell(at, endRelease, entry{Outcome: o})
	k.lease = 0
}
