package etcdlock

import (
	"fmt"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// ticket is one owner's request for one key. The table's mutex guards the fields that
// change. After the ticket has left the table, the sweeper deletes its place.
type ticket struct {
	placequeue.Ticket[granted]

	slot int

	session  *session // that the place belongs to; nil before the first attempt
	path     string   // of the place
	created  int64    // the revision that has created the place; 0 if it is not known to exist
	inFlight int      // requests for the place
	doubt    int64    // the fence of the last request with an unknown outcome; 0 if there is none
}

// isUnsent reports whether the ticket has no place, and no request may still create one.
func (tk *ticket) isUnsent() bool { return tk.created == 0 && tk.doubt == 0 && tk.inFlight == 0 }

// granted is what is known of a place that has the key.
type granted struct {
	*session

	created int64 // the revision that has created the place
}

// table has the tickets of a Backend, and the numbers of places. A place has its slot,
// a number among the places of its key in this process, until its deletion is
// confirmed. If the outcome of a request for the place or of its deletion is unknown,
// the fence is written before the slot is given up, so that the next place with this
// slot has another name and no late request can delete it.
type table struct {
	placequeue.Table[*ticket, granted]

	prefix string
	slots  map[string]*slots // by key
}

// slots are the slots of one key.
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

// begin begins an attempt in session s, and then the caller has to call end. It
// returns the path of the ticket's place, and the revision that has created the place,
// or 0 if it is not known to exist. It returns false if the ticket was removed.
func (t *table) begin(tk *ticket, s *session) (path string, created int64, ok bool) {
	t.Lock()
	defer t.Unlock()
	if tk.IsGone() {
		return "", 0, false
	}
	if tk.session != s {
		t.SetLost(tk) // the place has ended with its session
		tk.session, tk.created, tk.inFlight, tk.doubt = s, 0, 0, 0
		tk.path = fmt.Sprintf("%s%x.%x.%x", dirOf(t.prefix, tk.ID.Key), int64(s.id), s.fence.Load(), tk.slot)
	}
	tk.inFlight++
	return tk.path, tk.created, true
}

// end ends an attempt. It records the revision that has created the place, or 0 if the
// place is not known to exist, and the fence of the attempt if that is in doubt, or 0
// if it is not.
func (t *table) end(tk *ticket, s *session, created, doubt int64) {
	t.Lock()
	defer t.Unlock()
	if tk.session == s {
		tk.inFlight--
		tk.created, tk.doubt = max(tk.created, created), max(tk.doubt, doubt)
	}
}

// setDeleted records that the place was deleted.
func (t *table) setDeleted(tk *ticket, s *session) {
	t.Lock()
	defer t.Unlock()
	if tk.session == s {
		t.SetLost(tk)
		tk.created = 0
	}
}

// setHeld records that the owner of tk has the key under the terms of g: see
// [placequeue.Table.SetHeld].
func (t *table) setHeld(tk *ticket, s *session, g *driver.Grant) bool {
	t.Lock()
	defer t.Unlock()
	return tk.session == s && t.SetHeld(tk, tk.path, granted{s, tk.created}, g)
}

// leave says that no owner wants the place of a ticket that has left the table. The next
// fence is for the requests that are in flight. It returns false if the place does not
// exist.
func (t *table) leave(tk *ticket) bool {
	t.Lock()
	defer t.Unlock()
	if tk.isUnsent() {
		t.putSlot(tk.ID.Key, tk.slot)
		return false
	}
	if tk.inFlight > 0 {
		tk.doubt = tk.session.fence.Load()
	}
	return true
}
