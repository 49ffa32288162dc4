package etcdlock

// recentIDs is a set of the IDs that were added last, at most 1024 of them.
type recentIDs struct {
	ring  [1024]ticketID
	next  int
	index map[ticketID]struct{}
}

func (r *recentIDs) add(id ticketID) {
	if r.index == nil {
		r.index = make(map[ticketID]struct{})
	}
	if _, ok := r.index[id]; ok {
		return
	}
	delete(r.index, r.ring[r.next])
	r.ring[r.next] = id
	r.index[id] = struct{}{}
	r.next = (r.next + 1) % len(r.ring)
}

func (r *recentIDs) has(id ticketID) bool {
	_, ok := r.index[id]
	return ok
}
