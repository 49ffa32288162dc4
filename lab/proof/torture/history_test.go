package torture

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// outcome is the result of an operation.
type outcome string

const (
	ok           outcome = "ok"
	failed       outcome = "failed"       // not acquired; the register refused; the lease was lost before the release
	unknown      outcome = "unknown"      // the store did not answer, or the process died before
	undocumented outcome = "undocumented" // an error that the documentation does not mention
)

// never is the end of an operation that does not end.
const never = math.MaxInt64 / 4

// operation is one operation of a worker. If its outcome is unknown, it does not end.
type operation struct {
	Call, Return int64
	Outcome      outcome
	Err          string
}

// lease is one acquisition and, if it was granted, the use of the lease. Its entry is the
// one with which it began, and has what the process learned later: the token, the grant, and
// until when the store confirmed the lease; 0 if never.
type lease struct {
	entry
	Proc    string
	Acquire operation

	// Sent is a time before the request that was granted was sent, at the earliest the
	// time of the call. The holder never trusts a lease for longer than its length from
	// there. An exclusive lease from an earlier request can count as granted then: no
	// other lease has the key meanwhile.
	Sent int64

	// The store knows the owner of its grant, which the leases that were handed over have in
	// common. First is the first of them, nil if there is no other; left, if there are later
	// ones, stands in the model for what a release leaves to them: the grant with no holder.
	first, left *lease
	passed      bool // it is the left of a lease

	Uses     []*operation
	Renewals []*operation
	Release  *operation // nil if the process died before
	Expired  bool       // not valid when Release was called
	LostSeen int64      // when the context was cancelled; 0 if it was not
	GoneSeen int64      // when the process trusted it, and the store did not have it; 0 if never

	// Orphan tells that the store lost its data while the process had the key, for this
	// lease or an earlier one. Nothing is promised then. Dented tells that one server of a quorum
	// did: if just a majority had the key, the store has lost it, and lets nobody else have it.
	Orphan, Dented bool
}

// older reports whether the store may have granted the key long before the lease was
// reported, and may have renewed it meanwhile: for an earlier holder in the process, or
// for a set that was still waiting for other keys.
func (l *lease) older() bool { return l.Handed || l.Set != 0 }

// owner identifies the owner in the store: it is the first lease that has it.
func (l *lease) owner() *lease { return cmp.Or(l.first, l) }

func (l *lease) granted() bool { return l.Acquire.Outcome == ok }

func (l *lease) String() string {
	how := ""
	switch {
	case l.Leads:
		how = " as leader"
	case l.Mode == distlock.Shared:
		how = " shared"
	case l.Permits > 0:
		how = fmt.Sprintf(" as one of %d", l.Permits)
	}
	if l.MinHold > 0 {
		how += fmt.Sprintf(" for at least %v", time.Duration(l.MinHold))
	}
	return fmt.Sprintf("process %s worker %d key %d%s token %d", l.Proc, l.Worker, l.Key, how, l.Token)
}

// window is a period.
type window struct{ From, To int64 }

func (w window) overlap(from, to int64) int64 { return max(0, min(w.To, to)-max(w.From, from)) }

// farewell is the last message of a process.
type farewell struct {
	Said bool
	Err  string
}

// history is the input of the checks.
type history struct {
	Keys    int
	Leases  []*lease            // all acquisitions, by key
	Losses  []window            // when the store lost all of its data
	Dents   []window            // when one server of a quorum did
	Pauses  map[string][]window // when a process did not run
	Workers []string            // the workers that must be served in the healed phase, as "process/worker"
	Ends    map[string]farewell // of the processes that exit by themselves
	Left    []string            // data left in the store at the end
	Nobodys []string            // keys that an owner had after it had given them back

	// Deaths are the times from which a process no longer keeps its keys for the rest
	// of MinHold, for backends where the process itself does that.
	Deaths map[string]int64

	TellBound time.Duration // see tellBound

	Drift int64 // by how much the server's clock may run faster than those of the processes, in percent
}

// byKey returns the granted leases of a key, in the order in which their processes
// learned of them.
func (h *history) byKey(key int) []*lease {
	var ls []*lease
	for _, l := range h.Leases {
		if l.Key == key && l.granted() {
			ls = append(ls, l)
		}
	}
	slices.SortStableFunc(ls, func(a, b *lease) int { return cmp.Compare(a.Acquire.Return, b.Acquire.Return) })
	return ls
}

// bySent returns the leases in the order of their requests.
func bySent(ls []*lease) []*lease {
	return slices.SortedStableFunc(slices.Values(ls), func(a, b *lease) int { return cmp.Compare(a.Sent, b.Sent) })
}

// paused returns how long the process did not run between the two times.
func (h *history) paused(proc string, from, to int64) (sum int64) {
	for _, w := range h.Pauses[proc] {
		sum += w.overlap(from, to)
	}
	return sum
}

// useID names a use in the log of the register.
func useID(proc string, id uint64) string { return fmt.Sprintf("%s/%d", proc, id) }

// add reads the journal of a process into the history. If the process died during a
// use, the log of the register, by useID, has the outcome.
func (h *history) add(proc string, entries []entry, log map[string]testkit.Use) error {
	leases := make(map[uint64]*lease)
	uses := make(map[uint64]*operation)
	for _, e := range entries {
		l := leases[e.Lease]
		if l == nil && e.What != beginAcquire && e.What != sawStall && e.What != sawClose && e.What != sawEnd {
			return fmt.Errorf("journal of process %s: %s of lease %d, which is not known", proc, e.What, e.Lease)
		}
		switch e.What {
		case beginAcquire:
			l = &lease{entry: e, Proc: proc, Acquire: operation{Call: e.Time, Return: never, Outcome: unknown}, Sent: e.Time}
			leases[e.Lease] = l
			h.Leases = append(h.Leases, l)
		case endAcquire:
			l.Acquire.end(e)
			l.Token, l.Grant, l.Handed, l.Until, l.Kept = e.Token, e.Grant, e.Handed, e.Until, e.Kept
			if sent := e.Until - l.TTL; sent < e.Time && (!l.older() || !l.shares()) {
				l.Sent = max(l.Sent, sent) // otherwise the lease was renewed meanwhile
			}
		case beginUse:
			uses[e.ID] = &operation{Call: e.Time, Return: never, Outcome: unknown}
			l.Uses = append(l.Uses, uses[e.ID])
		case endUse:
			uses[e.ID].end(e)
		case beginRelease:
			l.Release = &operation{Call: e.Time, Return: never, Outcome: unknown}
			l.extend(e)
			l.Expired = e.Until == 0
		case endRelease:
			l.Release.end(e)
		case sawUntil:
			l.extend(e)
		case sawLoss:
			l.LostSeen = e.Time
		case sawGone:
			l.GoneSeen = e.Time
		case sawStall:
			h.Pauses[proc] = append(h.Pauses[proc], window{e.Time - e.Gap, e.Time})
		case sawClose:
			h.Deaths[proc] = e.Time
		case sawEnd:
			h.Ends[proc] = farewell{Said: true, Err: e.Err}
		default:
			return fmt.Errorf("journal of process %s: what is %q", proc, e.What)
		}
	}
	for id, w := range uses {
		if known, found := log[useID(proc, id)]; w.Outcome == unknown && found {
			w.Outcome, w.Return = failed, known.At.UnixNano()
			if known.Accepted {
				w.Outcome = ok
			}
		}
	}
	for _, l := range leases { // the register is closed: it ignores later requests
		l.Uses = slices.DeleteFunc(l.Uses, func(w *operation) bool { return w.Outcome == unknown })
	}
	return nil
}

// findOwners finds the leases with a common owner, and marks those that lost their data in the
// store. A process that hands a key over among its workers, or lets readers share a lease, has
// one grant of the store for them.
func (h *history) findOwners() {
	type owner struct {
		key   int
		grant string
	}
	granted := make(map[owner][]*lease)
	for _, l := range h.Leases {
		if l.granted() {
			o := owner{l.Key, l.Grant}
			granted[o] = append(granted[o], l)
		}
	}
	for _, ls := range granted {
		asked := bySent(ls)[0].Sent
		slices.SortStableFunc(ls, func(a, b *lease) int {
			switch {
			case a.Handed == b.Handed:
				return cmp.Compare(a.Acquire.Return, b.Acquire.Return)
			case a.Handed:
				return 1
			default:
				return -1
			}
		})
		for i, l := range ls {
			if l.first = ls[0]; i < len(ls)-1 {
				left := *l
				left.passed, l.left = true, &left
			}
			end := l.Until + 2*max(l.TTL, int64(longestLease)) // unseen renewals are over by then
			if l.Release != nil && l.Release.Outcome != unknown {
				end = max(l.Release.Return, h.keptUntil(l))
			}
			for _, w := range h.Losses {
				l.Orphan = l.Orphan || asked <= w.To && end >= w.From
			}
			for _, w := range h.Dents {
				l.Dented = l.Dented || asked <= w.To && end >= w.From
			}
		}
	}
}

// extend records until when the store has confirmed the lease: later than before after a renewal.
func (l *lease) extend(e entry) {
	if e.Until > l.Until {
		l.Renewals = append(l.Renewals, &operation{Call: max(l.Sent, e.Until-l.TTL), Return: e.Time, Outcome: ok})
		l.Until = e.Until
	}
}

// end completes the operation, unless its outcome is unknown.
func (o *operation) end(e entry) {
	o.Outcome, o.Err = e.Outcome, e.Err
	if e.Outcome != unknown {
		o.Return = e.Time
	}
}
