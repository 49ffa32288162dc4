package etcdlock

// slots are the numbers of the places of one key in this process. A place has its slot
// until its deletion is confirmed. If the outcome of a request for the place or of its
// deletion is unknown, the fence is written before the slot is given up, so that the next
// place with this slot has another name and no late request can delete it.
type slots struct {
	free []int
	next int // the lowest slot that was never used
}

// takeSlot returns a slot that no place of the key has.
func (t *table) takeSlot(key string) int {
	s := t.slots[key]
	if s == nil {
		s = &slots{}
		t.slots[key] = s
	}
	if last := len(s.free) - 1; last >= 0 {
		slot := s.free[last]
		s.free = s.free[:last]
		return slot
	}
	s.next++
	return s.next - 1
}

func (t *table) putSlot(key string, slot int) {
	s := t.slots[key]
	if s.free = append(s.free, slot); len(s.free) == s.next {
		delete(t.slots, key)
	}
}
