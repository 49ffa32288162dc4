package etcdlock

import (
	"time"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// ticketID identifies a ticket.
type ticketID struct{ key, owner string }

// ticket is one owner's request for one key, from the first attempt until the owner gives
// it up. The table's mutex guards the fields that change.
type ticket struct {
	id      ticketID
	sharing driver.Sharing
	slot    int
	gone    chan struct{} // closed when the ticket has left the table

	session  *session // that the place belongs to; nil before the first attempt
	path     string   // of the place
	created  int64    // the revision that has created the place; 0 if it is not known to exist
	inFlight int      // requests for the place
	doubt    int64    // the fence of the last request with an unknown outcome; 0 if there is none
	queued   bool     // the place is kept while another owner has the key

	held  bool         // the owner has the key; the fields below are set
	since time.Time    // when it got the key
	grant driver.Grant // as last confirmed
	timer *time.Timer  // ends the lease
}

// isGone reports whether the ticket has left the table.
func (tk *ticket) isGone() bool {
	select {
	case <-tk.gone:
		return true
	default:
		return false
	}
}

// extend records that g was confirmed.
func (tk *ticket) extend(g driver.Grant) {
	tk.grant = placequeue.Extend(tk.grant, g)
	tk.timer.Reset(time.Until(tk.end()))
}

// end returns when the lease ends.
func (tk *ticket) end() time.Time { return placequeue.End(tk.grant) }

// expired reports whether the lease has ended.
func (tk *ticket) expired(now time.Time) bool { return !now.Before(tk.end()) }
