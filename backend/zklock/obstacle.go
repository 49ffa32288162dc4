package zklock

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// lastLookTimeout limits the time to find the holder of the key when a wait is over: the
// caller may have no time left.
const lastLookTimeout = 100 * time.Millisecond

// obstacle is why a ticket's owner does not get the key now.
type obstacle struct {
	*session

	backend *backend
	ticket  *ticket
	watch   []string      // the paths of the nodes to wait for
	own     string        // the path of the ticket's node; "" if there can be none
	first   string        // the path of the first node in the queue
	foreign error         // nil if an owner that excludes the ticket's has the key
	others  bool          // some of the nodes to wait for are those of other programs
	left    time.Duration // until the next node is over that does not end with a session; 0 if there is none
}

// Watch implements [placequeue.Obstacle].
func (o *obstacle) Watch(ctx context.Context) <-chan error {
	fired := make(chan error, len(o.watch)+1)
	if o.left > 0 {
		timer := time.AfterFunc(o.left, func() { fired <- nil })
		context.AfterFunc(ctx, func() { timer.Stop() })
	}
	for _, path := range o.watch {
		go func() { fired <- o.backend.watches.wait(ctx, path) }()
	}
	return fired
}

// Remains implements [placequeue.Obstacle]. It looks at the ticket's node, if it has one, and at
// the one node that it waits for. Other programs do not delete a node in front that is over: behind
// theirs, the whole queue is read.
func (o *obstacle) Remains(ctx context.Context) bool {
	if len(o.watch) != 1 || o.others {
		return false
	}
	link, tk := o.backend.link, o.ticket
	op, end := link.opContext(ctx)
	defer end()
	if !tk.lock(op) {
		return false
	}
	defer tk.unlock()
	if tk.IsGone() || tk.node != o.own || o.session != link.session() {
		return false
	}
	other := link.stat(o.watch[0])
	if tk.node != "" {
		stat, err := link.stat(tk.node).wait(op)
		if err != nil || stat.EphemeralOwner != o.id {
			return false
		}
	}
	stat, err := other.wait(op)
	return err == nil && stat.Czxid != 0
}

// Err implements [placequeue.Obstacle].
func (o *obstacle) Err(ctx context.Context) error {
	if o.foreign != nil {
		return o.foreign
	}
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), min(lastLookTimeout, o.backend.config.OpTimeout))
	defer end()
	// The holder may have changed since the ticket's owner has looked.
	q, _ := o.backend.link.queue(ctx, o.ticket.parent)
	if len(q) == 0 || q[0].guid == o.ticket.guid {
		return &driver.HeldError{}
	}
	return o.backend.heldError(ctx, o.ticket.parent+"/"+q[0].name)
}
