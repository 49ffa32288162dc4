package torture

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// tellBound limits the time from the end of a lease to the cancellation of its context,
// in a process that runs on a busy machine.
const tellBound = 2 * time.Second

// pieceSize is how many operations porcupine gets at a time, and patience is its time
// limit.
const (
	pieceSize = 200
	patience  = 2 * time.Minute
)

// violation is a broken promise.
type violation struct {
	Check string
	What  string
}

// check is one of the checks.
type check struct {
	name string
	find func(h *history, report func(format string, args ...any))
}

// checks are the checks that do not need porcupine. The model is checked by
// [checkModel].
var checks = []check{
	{"documented", checkDocumented},
	{"tokens", checkTokens},
	{"overlap", checkOverlap},
	{"trusted", checkTrusted},
	{"inside", checkInside},
	{"sets", checkSets},
	{"told", checkTold},
	{"served", checkServed},
	{"ends", checkEnds},
	{"empty", checkEmpty},
	{"nobody", checkNobody},
}

// violations runs all checks. It also returns the number of pieces that porcupine
// checked, each with at least size operations.
func (h *history) violations(size int) (vs []violation, pieces int) {
	for _, c := range checks {
		c.find(h, func(format string, args ...any) {
			vs = append(vs, violation{Check: c.name, What: fmt.Sprintf(format, args...)})
		})
	}
	found, pieces := checkModel(h, size)
	return append(vs, found...), pieces
}

// checkModel lets porcupine look for an order of operations that the model allows.
func checkModel(h *history, size int) (found []violation, pieces int) {
	for key := range h.Keys {
		for i, ops := range h.cut(key, size) {
			pieces++
			result, info := porcupine.CheckOperationsVerbose(model, ops, patience)
			if result == porcupine.Ok {
				continue
			}
			what := fmt.Sprintf("key %d, piece %d of %d operations: no legal order, the longest lacks the %s", key, i, len(ops), lacking(ops, info))
			if result == porcupine.Unknown {
				what = fmt.Sprintf("key %d, piece %d of %d operations: undecided after %v", key, i, len(ops), patience)
			}
			found = append(found, violation{"model", what})
		}
	}
	return found, pieces
}

// lacking returns the first operation that is not in the longest legal order.
func lacking(ops []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []int
	for _, order := range info.PartialLinearizations()[0] {
		if len(order) > len(longest) {
			longest = order
		}
	}
	ended, first := int64(never)*2, step{}
	for i, o := range ops {
		if o.Return < ended && !slices.Contains(longest, i) {
			ended, first = o.Return, o.Input.(step)
		}
	}
	return fmt.Sprintf("%s of %v", first.kind, first.lease)
}

// checkDocumented finds errors that are not documented.
func checkDocumented(h *history, report func(string, ...any)) {
	for _, l := range h.Leases {
		for name, o := range map[string]*operation{"acquire": &l.Acquire, "release": l.Release} {
			if o != nil && o.Outcome == undocumented {
				report("%v: %s: %s", l, name, o.Err)
			}
		}
		if l.granted() && l.Token == 0 {
			report("%v: no token", l)
		}
	}
}

// checkTokens finds tokens that occur twice, and grants with a smaller token than that
// of a lease that ended before the request (P3), terms of leaders included. The tokens
// of leases that may share a key have no order.
func checkTokens(h *history, report func(string, ...any)) {
	for key := range h.Keys {
		leases := h.byKey(key)
		seen := make(map[uint64]*lease)
		for _, l := range leases {
			if other := seen[l.Token]; other != nil {
				report("%v and %v have one token", other, l)
			}
			seen[l.Token] = l
		}
		// Sorted by return: the leases that returned before l was requested.
		var highest [ways]*lease
		i := 0
		for _, l := range bySent(leases) {
			for ; i < len(leases) && leases[i].Acquire.Return < l.Sent; i++ {
				if h := &highest[leases[i].way()]; *h == nil || leases[i].Token > (*h).Token {
					*h = leases[i]
				}
			}
			for _, before := range highest {
				if before != nil && before.excludes(l) && l.Token <= before.Token && (!l.Orphan || !l.Handed) {
					report("%v was granted after %v", l, before)
				}
			}
		}
	}
}

// checkTold finds lost leases that were not reported: by the context soon after the
// loss, unless the process did not run, and by Release. In virtual time no lease is over when
// it is granted.
func checkTold(h *history, report func(string, ...any)) {
	for key := range h.Keys {
		for _, l := range h.byKey(key) {
			r := l.Release
			if l.Until == 0 && h.TellBound > 0 && !l.older() {
				report("%v: the lease was over when it was granted", l)
			}
			if r == nil || l.Until == 0 {
				continue
			}
			seen := r.Call
			if l.LostSeen > 0 {
				seen = min(seen, l.LostSeen)
			}
			from := max(l.Until, l.Acquire.Return)
			if late := seen - from - h.paused(l.Proc, from, seen); late > int64(cmp.Or(h.TellBound, tellBound)) {
				report("%v: nothing was heard of the loss for %v", l, time.Duration(late))
			}
			if r.Outcome == ok && l.Expired {
				report("%v: the lease had run out, and Release says nothing of it", l)
			}
		}
	}
}

// checkServed finds workers that did not get every key, and then all keys together,
// after the faults had ended, and acquisitions that did not end (P5).
func checkServed(h *history, report func(string, ...any)) {
	type want struct {
		worker string
		key    int // or all of them, as a set
	}
	const all = -1
	served := make(map[want]bool)
	for _, l := range h.Leases {
		w := want{fmt.Sprintf("%s/%d", l.Proc, l.Worker), l.Key}
		if r := l.Release; l.Healed && l.granted() && r != nil {
			// A process that does not run can lose a lease at any time.
			held := h.paused(l.Proc, l.Acquire.Return, r.Return)
			if l.Set != 0 {
				w.key = all
			}
			served[w] = served[w] || r.Outcome == ok || held > l.TTL/2
		}
		if h.Ends[l.Proc].Said && l.Acquire.Outcome == unknown {
			report("%v: the acquisition never ended", l)
		}
	}
	for _, w := range h.Workers {
		for key := range h.Keys {
			if !served[want{w, key}] {
				report("worker %s did not get key %d", w, key)
			}
		}
		if !served[want{w, all}] {
			report("worker %s did not get all keys together", w)
		}
	}
}

// checkEnds finds processes that ended with an error or leaked something.
func checkEnds(h *history, report func(string, ...any)) {
	for proc, end := range h.Ends {
		switch {
		case !end.Said:
			report("process %s did not end by itself", proc)
		case end.Err != "":
			report("process %s: %s", proc, end.Err)
		}
	}
}

// checkEmpty finds data that is left in the store.
func checkEmpty(h *history, report func(string, ...any)) {
	for _, what := range h.Left {
		report("%s", what)
	}
}

// checkNobody finds keys that the store kept for nobody (P5).
func checkNobody(h *history, report func(string, ...any)) {
	for _, what := range h.Nobodys {
		report("%s", what)
	}
}
