package torture

import "time"

// believed returns from when to when the holder trusted the lease, by its own clock.
func (l *lease) believed() (from, to int64) {
	from, to = l.Acquire.Return, l.Until
	if l.Release != nil {
		to = min(to, l.Release.Call)
	}
	if l.LostSeen > 0 {
		to = min(to, l.LostSeen)
	}
	return from, to
}

// keptUntil returns the earliest time at which MinHold frees the key after its release.
// It returns 0 if the function and its release may have taken longer, the lease was lost, or
// the outcome of the release is unknown.
func (h *history) keptUntil(l *lease) int64 {
	if l.MinHold == 0 || l.Release == nil || l.Release.Outcome != ok {
		return 0
	}
	minHold := l.MinHold - l.MinHold*h.Drift/100
	until := l.Sent + minHold
	if l.older() {
		until = l.Acquire.Call + minHold
	}
	if death, found := h.Deaths[l.Proc]; found {
		until = min(until, death)
	}
	if until <= l.Release.Return {
		return 0
	}
	return until
}

// checkOverlap finds holders that trust leases at the same time although these exclude
// each other, or that have too many permits (P1, P2, P8). The lease of a process that
// did not run still ends by the clock.
func checkOverlap(h *history, report func(string, ...any)) {
	span := func(l *lease) (from, to int64) {
		if l.Orphan {
			return 0, 0
		}
		return l.believed()
	}
	for key := range h.Keys {
		crowd(h.byKey(key), span, func(l *lease, rivals []*lease) {
			from, to := l.believed()
			for _, o := range rivals {
				_, end := o.believed()
				to = min(to, end)
			}
			report("%v and %v: all for %v", rivals, l, time.Duration(to-from))
		})
	}
}

// checkTrusted finds leases that a process trusted when the store did not have them any more, also
// if nobody else wanted the key (P2).
func checkTrusted(h *history, report func(string, ...any)) {
	for _, l := range h.Leases {
		if l.GoneSeen > 0 && !l.Orphan {
			report("%v was trusted at %v, and the store did not have it", l, time.Duration(l.GoneSeen-bubbleStart))
		}
	}
}

// checkInside finds workers that got the key before other workers of the same process
// had finished, even if these had lost the lease (P8).
func checkInside(h *history, report func(string, ...any)) {
	span := func(l *lease) (from, to int64) {
		if l.Release == nil {
			return l.Acquire.Return, never
		}
		return l.Acquire.Return, l.Release.Call
	}
	for key := range h.Keys {
		byProc := make(map[string][]*lease)
		for _, l := range h.byKey(key) {
			byProc[l.Proc] = append(byProc[l.Proc], l)
		}
		for _, leases := range byProc {
			crowd(leases, span, func(l *lease, rivals []*lease) { report("%v came in while %v were inside", l, rivals) })
		}
	}
}

// checkSets finds sets of which only some keys were granted, or kept although the set
// was refused.
func checkSets(h *history, report func(string, ...any)) {
	type set struct {
		proc   string
		number uint64
	}
	granted := make(map[set]bool)
	for _, l := range h.Leases {
		s := set{l.Proc, l.Set}
		if l.Set == 0 {
			continue
		}
		if all, known := granted[s]; known && all != l.granted() {
			report("%v: of its set not all were granted, or not none", l)
		}
		granted[s] = l.granted()
		if !l.granted() && l.Kept > 0 {
			report("%v: the set was refused, and %d keys of it kept", l, l.Kept)
		}
	}
}
