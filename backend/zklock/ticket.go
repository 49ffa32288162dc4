package zklock

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// ticket is one owner's request for one key. It has a node in the key's queue, except
// for a short time.
type ticket struct {
	placequeue.Ticket[*session]

	parent  string // path of the key's node
	guid    string
	kind    kind
	busy    chan struct{} // full while a goroutine has the ticket locked
	version atomic.Int32  // of the data that this process has written to the node last
	kept    atomic.Bool   // the node does not end with a session

	// The ticket's lock guards these.
	node     string          // path of the node; "" if none is known
	session  *session        // the session of the node
	since    time.Time       // when the node was known to exist
	inDoubt  bool            // there may be a node with an unknown path
	keeping  bool            // there may be a node that is kept
	unwanted []string        // the paths of nodes that are to be deleted
	request  <-chan struct{} // closed when the last creation or deletion has its result
}

// renewal is one grant of a call of Renew.
type renewal = placequeue.Renewal[*ticket, *session]

// created records the node of tk, which the caller has locked.
func (tk *ticket) created(node string, s *session) {
	tk.node, tk.session, tk.since, tk.inDoubt = node, s, time.Now(), false
	tk.version.Store(0)
}

// ephemeralOwner returns what the server says of the node of a ticket in session s.
func (tk *ticket) ephemeralOwner(s *session) int64 {
	if tk.kept.Load() {
		return 0
	}
	return s.id
}

// lock locks the ticket, to work on its node. It returns false if ctx ends first.
func (tk *ticket) lock(ctx context.Context) bool {
	select {
	case tk.busy <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// unlock unlocks the ticket when the last request has its result: what is created or
// deleted late must not meet the next attempt.
func (tk *ticket) unlock() {
	if r := tk.request; r != nil && !placequeue.IsClosed(r) {
		go func() {
			<-r
			<-tk.busy
		}()
		return
	}
	<-tk.busy
}

// isUnsent reports whether the ticket has no node, and no request may still create one.
func (tk *ticket) isUnsent() bool {
	select {
	case tk.busy <- struct{}{}:
		defer tk.unlock()
		return !tk.isLeft()
	default:
		return false // a request is in flight
	}
}

// isLeft reports whether there may be a node.
func (tk *ticket) isLeft() bool { return tk.node != "" || tk.inDoubt || len(tk.unwanted) > 0 }

// data returns the data of the node, for people: the name of the holder. Curator writes
// the client's address there.
func (tk *ticket) data() []byte { return []byte(driver.HolderOf(tk.ID.Owner)) }

func (tk *ticket) name() string { return tk.node[len(tk.parent)+1:] }

// keptPath returns the path of the node that keeps the place of tk's node.
func (tk *ticket) keptPath() string {
	return strings.Replace(tk.node, "-"+mark+tk.kind.tag, "-"+mark+markKept+tk.kind.tag, 1)
}
