package distlock

import "time"

// Attach lets one more reader ride on the hold, in the process of those who have it
// already and without a round trip. It returns false, and changes nothing, if the
// hold is over or not fit to be handed over: it goes by the same rules. Whoever
// attaches must occupy the hold or alight.
func (h *hold) Attach(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.fit(now) || h.spent() {
		return false
	}
	h.block.changes++
	h.handed = true
	h.coming++
	return true
}

// ride makes s one of the holders. The caller has the mutex.
func (h *hold) ride(s *Lease) {
	h.coming--
	if h.riders == nil {
		h.riders = make(map[*Lease]struct{})
	}
	h.riders[s] = struct{}{}
}

// alight ends the ride of s, or of one on its way if s is nil. It returns why the
// hold is over, if it is, and whether that was the last: then the hold is over in
// any case, and the caller gives it back.
func (h *hold) alight(s *Lease) (last bool, over error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s == nil {
		h.coming--
	} else {
		delete(h.riders, s)
	}
	over = h.over
	last = h.coming == 0 && len(h.riders) == 0
	if last && over == nil {
		h.over = errReleased
	}
	return last, over
}
