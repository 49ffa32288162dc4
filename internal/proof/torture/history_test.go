package torture

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/distlock-go/distlock"
)

// outcome is how an operation ended.
type outcome string

const (
	ok           outcome = "ok"
	failed       outcome = "failed"       // not acquired; the register refused; the lease was lost before the release
	unknown      outcome = "unknown"      // the store did not answer, or the process did not live to see it
	undocumented outcome = "undocumented" // an error that the documentation knows nothing of
)

// never is when something ends that has no end.
const never = math.MaxInt64 / 4

// operation is one operation of a worker. What is unknown ends never.
type operation struct {
	Call, Return int64
	Outcome      outcome
	Err          string
}

// lease is one acquisition, and if it was granted what was done under it.
type lease struct {
	Proc    string
	Worker  int
	Key     int
	Number  uint64
	Healed  bool
	Acquire operation

	// Sent is a time at which the request that was granted had not been sent yet, at
	// the earliest that of the call: a lease is never believed in for longer than its
	// length from there. An older lease can be counted as granted then, if it is
	// exclusive: no other lease has the key meanwhile.
	Sent int64

	Token    uint64
	Handed   bool
	Grant    string // fingerprint of the owner in the store: a hand-over keeps it
	Uses     []*operation
	Release  *operation // nil if the process did not live to call it
	Until    int64      // by what the store confirmed it had the key until then; 0 if never
	Expired  bool       // it was not valid when Release was called
	LostSeen int64      // when the context was cancelled; 0 if it was not

	// Orphan tells that the store lost its data while a process had the key, for this
	// lease or for one before it in the same process: nobody promises anything then.
	Orphan bool

	// How the key was asked for.
	Mode    distlock.Mode
	Permits int
	TTL     int64
	MinHold int64
	Set     uint64 // number of the set that it is one of; 0: none
	Leads   bool   // it is a term of a leader
	Kept    int    // keys that were not released although their set was refused
}

// older reports whether the store may have granted the key long before the lease was
// reported, and may have renewed it meanwhile: for an earlier holder in the process, or
// for a set that was still waiting for its other keys.
func (l *lease) older() bool { return l.Handed || l.Set != 0 }

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

// window is a time in which something was the case.
type window struct{ From, To int64 }

func (w window) overlap(from, to int64) int64 { return max(0, min(w.To, to)-max(w.From, from)) }

// farewell is what a process says of itself at its end.
type farewell struct {
	Said bool
	Err  string
}

// history is all that the checks know.
type history struct {
	Keys    int
	Leases  []*lease            // all acquisitions, by key
	Losses  []window            // when the store lost all of its data
	Pauses  map[string][]window // when a process did not run
	Workers []string            // those who must be served in the healed phase, "process/worker"
	Ends    map[string]farewell // of the processes that were to end by themselves
	Left    []string            // what the store still has at the end

	// Deaths are the times from which a process no longer keeps its keys for the rest
	// of MinHold, where the process itself does so.
	Deaths map[string]int64
}

// byKey returns the leases of a key that were granted, in the order in which that
// was heard of.
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

// bySent returns the leases in the order in which they were asked for.
func bySent(ls []*lease) []*lease {
	return slices.SortedStableFunc(slices.Values(ls), func(a, b *lease) int { return cmp.Compare(a.Sent, b.Sent) })
}

// paused returns for how long the process did not run between the two times.
func (h *history) paused(proc string, from, to int64) (sum int64) {
	for _, w := range h.Pauses[proc] {
		sum += w.overlap(from, to)
	}
	return sum
}

// add reads the journal of a process into the history. What the process did not
// live to see of its uses, the register knows.
func (h *history) add(proc string, entries []entry, log map[useID]used) error {
	leases := make(map[uint64]*lease)
	uses := make(map[uint64]*operation)
	for _, e := range entries {
		l := leases[e.Lease]
		if l == nil && e.What != beginAcquire && e.What != sawStall && e.What != sawClose && e.What != sawEnd {
			return fmt.Errorf("journal of process %s: %s of lease %d, which is not known", proc, e.What, e.Lease)
		}
		switch e.What {
		case beginAcquire:
			l = &lease{
				Proc: proc, Worker: e.Worker, Key: e.Key, Number: e.Lease, Healed: e.Healed,
				Acquire: operation{Call: e.Time, Return: never, Outcome: unknown}, Sent: e.Time,
				Mode: e.Mode, Permits: e.Permits, TTL: e.TTL, MinHold: e.MinHold, Set: e.Set, Leads: e.Leads,
			}
			leases[e.Lease] = l
			h.Leases = append(h.Leases, l)
		case endAcquire:
			l.Acquire.end(e)
			l.Token, l.Grant, l.Handed, l.Until, l.Kept = e.Token, e.Grant, e.Handed, e.Until, e.Kept
			if sent := e.Until - l.TTL; sent < e.Time && (!l.older() || !l.shares()) {
				l.Sent = max(l.Sent, sent) // else it was renewed meanwhile
			}
		case beginUse:
			uses[e.ID] = &operation{Call: e.Time, Return: never, Outcome: unknown}
			l.Uses = append(l.Uses, uses[e.ID])
		case endUse:
			uses[e.ID].end(e)
		case beginRelease:
			l.Release = &operation{Call: e.Time, Return: never, Outcome: unknown}
			l.Until, l.Expired = max(l.Until, e.Until), e.Until == 0
		case endRelease:
			l.Release.end(e)
		case sawUntil:
			l.Until = max(l.Until, e.Until)
		case sawLoss:
			l.LostSeen = e.Time
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
		if known, found := log[useID{proc, id}]; w.Outcome == unknown && found {
			w.Outcome, w.Return = failed, known.time
			if known.accepted {
				w.Outcome = ok
			}
		}
	}
	for _, l := range leases { // the register is closed: what it did not get is nothing
		l.Uses = slices.DeleteFunc(l.Uses, func(w *operation) bool { return w.Outcome == unknown })
	}
	return nil
}

// findOrphans marks what the loss of the store's data takes from under its
// holders. A process that hands a key over among its workers, or lets readers share a
// lease, does so on one grant of the store.
func (h *history) findOrphans() {
	type chain struct {
		proc  string
		key   int
		grant string
	}
	granted := make(map[chain][]*lease)
	for _, l := range h.Leases {
		if l.granted() {
			c := chain{l.Proc, l.Key, l.Grant}
			granted[c] = append(granted[c], l)
		}
	}
	for _, ls := range granted {
		asked := bySent(ls)[0].Sent
		for _, l := range ls {
			end := l.Until + 2*int64(longestLease) // whatever was renewed unseen is over by then
			if l.Release != nil && l.Release.Outcome != unknown {
				end = max(l.Release.Return, h.keptUntil(l))
			}
			for _, w := range h.Losses {
				l.Orphan = l.Orphan || asked <= w.To && end >= w.From
			}
		}
	}
}

// end completes the operation, unless nobody knows how it ended.
func (o *operation) end(e entry) {
	o.Outcome, o.Err = e.Outcome, e.Err
	if e.Outcome != unknown {
		o.Return = e.Time
	}
}
