package torture

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"
)

// sure reports whether the lease was still confirmed when its process learned of it. At
// that moment no lease that it excludes has the key.
func (l *lease) sure() bool { return !l.Orphan && l.Until > l.Acquire.Return }

// sureties are, for each way of having the key, the first time after a moment at which
// a lease surely has it.
type sureties [ways]int64

// before moves the moment to before l.
func (s *sureties) before(l *lease) {
	if l.sure() {
		s[l.way()] = l.Acquire.Return
	}
}

// exclude returns the first time at which a lease that excludes l surely has the key.
func (s *sureties) exclude(l *lease) int64 {
	first := int64(never)
	for way, at := range s {
		if way != l.way() || way == alone {
			first = min(first, at)
		}
	}
	return first
}

// operations returns the steps of the leases of one key. Times are doubled, to leave
// room between them.
//
// A step that affects only one lease in the store must take effect before another lease
// that excludes it surely has the key: after that it changes nothing. So no operation
// stays open for long.
func (h *history) operations(key int) []porcupine.Operation {
	leases := h.byKey(key)
	var ops []porcupine.Operation
	add := func(l *lease, kind string, o outcome, from, to int64) {
		ops = append(ops, porcupine.Operation{
			Input: step{kind: kind, lease: l}, Output: o, Call: 2 * from, Return: 2 * max(from, to),
		})
	}
	later := sureties{never, never, never}
	for _, l := range slices.Backward(leases) {
		add(l, stepAcquire, ok, l.Sent, l.Acquire.Return)
		for _, u := range l.Uses {
			add(l, stepUse, u.Outcome, u.Call, u.Return)
		}
		if !l.Orphan {
			for _, r := range l.Renewals {
				add(l, stepRenew, ok, r.Call, r.Return)
			}
			if !l.Dented && l.Set == 0 && l.LostSeen > 0 && l.LostSeen < l.Until { // the time had not run out
				add(l, stepRenew, failed, l.Acquire.Return+1, l.LostSeen)
			}
		}
		over, next := int64(never), later.exclude(l)
		switch r := l.Release; {
		case r == nil:
		case h.keptUntil(l) > 0:
			add(l, stepKeep, ok, r.Call, r.Return)
			add(l, stepExpire, ok, h.keptUntil(l), next)
			over = 0 // not earlier
		case r.Outcome == ok:
			add(l, stepRelease, ok, r.Call, r.Return)
			over = r.Return
		default:
			add(l, stepRelease, r.Outcome, r.Call, next)
		}
		if from := max(l.Until, l.Sent); from < over {
			add(l, stepExpire, ok, from, next)
		}
		later.before(l)
	}
	for _, w := range h.Losses {
		add(nil, stepForget, ok, w.From, w.To)
	}
	slices.SortStableFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return ops
}

// cut cuts the history of one key into pieces of at least size operations that can be
// checked separately. It cuts at the moment when a process learned of a grant that was
// surely its own and excludes all others, if the only other operations in progress are
// acquisitions that are granted later. These wait until the holder is done, so they can
// count from the cut. The pieces are legal if and only if the whole is.
func (h *history) cut(key, size int) [][]porcupine.Operation {
	rest := h.operations(key)
	var pieces [][]porcupine.Operation
	var carried []porcupine.Operation // begun before the last cut
	var largest uint64                // token that the register accepted
	for _, l := range h.byKey(key) {
		at := 2*l.Acquire.Return + 1
		// Operations are sorted by call: those that begin later do not count.
		begun, _ := slices.BinarySearchFunc(rest, at, func(o porcupine.Operation, t int64) int { return cmp.Compare(o.Call, t) })
		if !l.sure() || l.shares() || begun < size {
			continue
		}
		piece := slices.Concat(carried, rest[:begun])
		if !separable(piece, at) {
			continue
		}
		carried = nil
		var before []porcupine.Operation
		for _, o := range piece {
			if o.Return > at {
				o.Call = at + 1
				carried = append(carried, o)
				continue
			}
			before = append(before, o)
			if i := o.Input.(step); i.kind == stepUse && !i.lease.shares() && o.Output == ok {
				largest = max(largest, i.lease.Token)
			}
		}
		s := state{largest: largest}.with(l)
		mark := func(kind string) porcupine.Operation {
			return porcupine.Operation{Input: step{kind: kind, state: s}, Output: ok, Call: at, Return: at}
		}
		pieces = append(pieces, append(before, mark(stepTo)))
		carried = append([]porcupine.Operation{mark(stepFrom)}, carried...)
		rest = rest[begun:]
	}
	return append(pieces, slices.Concat(carried, rest))
}

// separable reports whether all operations in progress at a time are acquisitions with
// leases that outlast it.
func separable(begun []porcupine.Operation, at int64) bool {
	for _, o := range begun {
		i := o.Input.(step)
		switch {
		case o.Return < at:
		case o.Return > at && i.kind == stepAcquire && i.lease.sure():
		default:
			return false
		}
	}
	return true
}
