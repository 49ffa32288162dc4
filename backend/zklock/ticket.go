package zklock

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// claim is an owner's on a key.
type claim struct{ key, owner string }

// place is an owner's in the line for a key, from its first attempt until it has
// given it up.
type place struct {
	claim  claim
	parent string // path of the key's node
	guid   string
	kind   kind
	turn   chan struct{} // has room for whoever works on the node
	gone   chan struct{} // closed when the place is in the table no more

	// Whoever has the turn may use these.
	node    string    // path of the node; "" if none is known
	session *session  // that it belongs to
	made    time.Time // when it was requested
	doubt   bool      // there may be a node that is not known

	// The table's mutex guards these.
	queued bool         // it is kept while another has the key
	held   bool         // it has the key, as follows
	since  time.Time    // when it got it
	grant  driver.Grant // as it was confirmed last
	path   string       // of the node that was
	of     *session     // whose node
	index  int          // in the schedule
}

// take takes the turn. What it returns false for is that ctx has ended.
func (p *place) take(ctx context.Context) bool {
	select {
	case p.turn <- struct{}{}:
		return true
	default:
	}
	select {
	case p.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *place) put() { <-p.turn }

// data returns the data of the node, for people: the name of the holder. Curator writes
// the client's address there.
func (p *place) data() []byte { return []byte(driver.HolderOf(p.claim.owner)) }

// isGone reports whether the place has been given up.
func (p *place) isGone() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// ended reports whether the lease is over.
func (p *place) ended(now time.Time) bool {
	return now.Sub(p.grant.Sent) >= p.grant.TTL
}
