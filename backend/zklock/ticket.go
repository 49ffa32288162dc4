package zklock

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// ticketID identifies a ticket.
type ticketID struct{ key, owner string }

// ticket is one owner's request for one key, from the first attempt until the owner gives
// it up. It has a node in the key's queue, except for a short time.
type ticket struct {
	id     ticketID
	parent string // path of the key's node
	guid   string
	kind   kind
	busy   chan struct{} // full while a goroutine has the ticket locked
	gone   chan struct{} // closed when the ticket has left the table

	// The ticket's lock guards these.
	node    string   // path of the node; "" if none is known
	session *session // the session of the node
	inDoubt bool     // there may be a node with an unknown path

	// The table's mutex guards these.
	queued      bool         // the ticket is kept while another owner has the key
	held        bool         // the owner has the key; the fields below are set
	since       time.Time    // when it got the key
	grant       driver.Grant // as last confirmed
	heldNode    string       // path of the node
	version     int32        // of the data that this process has written to it last
	heldSession *session     // the session of the node
	timer       *time.Timer  // ends the lease
}

// obstacle is why a ticket's owner does not get the key now.
type obstacle struct {
	session *session
	watch   []string // the paths of the nodes to wait for
	own     string   // the path of the ticket's node; "" if there can be none
	first   string   // the path of the first node in the queue
}

// lock locks the ticket, to work on its node. It returns false if ctx ends first.
func (tk *ticket) lock(ctx context.Context) bool {
	select {
	case tk.busy <- struct{}{}:
		return true
	default:
	}
	select {
	case tk.busy <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (tk *ticket) unlock() { <-tk.busy }

// data returns the data of the node, for people: the name of the holder. Curator writes
// the client's address there.
func (tk *ticket) data() []byte { return []byte(driver.HolderOf(tk.id.owner)) }

// name returns the name of the node.
func (tk *ticket) name() string { return tk.node[len(tk.parent)+1:] }

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
