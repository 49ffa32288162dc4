package memlock

// memory remembers the latest releases, so that repeating one is told from
// releasing what another has taken. It is bounded: strangers choose the keys.
type memory struct {
	claims [32]claim
	next   int
}

func (m *memory) add(c claim) {
	m.claims[m.next] = c
	m.next = (m.next + 1) % len(m.claims)
}

func (m *memory) has(c claim) bool {
	for i := range m.claims {
		if m.claims[i] == c {
			return true
		}
	}
	return false
}
