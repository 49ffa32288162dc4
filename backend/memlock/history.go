package memlock

import "slices"

// keyOwner identifies a request for a key.
type keyOwner struct{ key, owner string }

// history remembers the latest owners that a key was taken from. With it a Release that
// is repeated differs from one of a key that another owner has taken. It is bounded,
// because clients choose the keys.
type history struct {
	last [32]keyOwner
	next int
}

func (h *history) add(ko keyOwner) {
	h.last[h.next] = ko
	h.next = (h.next + 1) % len(h.last)
}

func (h *history) has(ko keyOwner) bool {
	return slices.Contains(h.last[:], ko)
}
