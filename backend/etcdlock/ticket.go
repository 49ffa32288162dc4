package etcdlock

import "github.com/distlock-go/distlock/backend/internal/placequeue"

// ticket is one owner's request for one key. The table's mutex guards the fields that
// change.
type ticket struct {
	placequeue.Ticket[granted]

	slot int

	session  *session // that the place belongs to; nil before the first attempt
	path     string   // of the place
	created  int64    // the revision that has created the place; 0 if it is not known to exist
	inFlight int      // requests for the place
	doubt    int64    // the fence of the last request with an unknown outcome; 0 if there is none
}

// isUnsent reports whether there is no place, and no request may still create one.
func (tk *ticket) isUnsent() bool { return tk.created == 0 && tk.doubt == 0 && tk.inFlight == 0 }

// granted is what is known of a place that has the key.
type granted struct {
	*session

	created int64 // the revision that has created the place
}
