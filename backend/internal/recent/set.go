// Package recent has what a store remembers of its last keys, within a limit.
package recent

// most is how many elements a Set has at most.
const most = 1024

// Set is a set of the elements that were added last, at most 1024 of them. The zero
// value is empty. It is not safe for concurrent use.
type Set[T comparable] struct {
	ring  []T
	next  int // the oldest, when the ring is full
	index map[T]struct{}
}

// Add adds an element, and removes the oldest one if there are too many.
func (s *Set[T]) Add(e T) {
	if s.index == nil {
		s.index = make(map[T]struct{})
	}
	if s.Has(e) {
		return
	}
	if len(s.ring) < most {
		s.ring = append(s.ring, e)
	} else {
		delete(s.index, s.ring[s.next])
		s.ring[s.next] = e
		s.next = (s.next + 1) % most
	}
	s.index[e] = struct{}{}
}

// Has reports whether an element is there.
func (s *Set[T]) Has(e T) bool {
	_, ok := s.index[e]
	return ok
}
