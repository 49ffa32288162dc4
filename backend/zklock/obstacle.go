package zklock

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// obstacle is why a ticket's owner does not get the key now.
type obstacle struct {
	*session

	backend *backend
	ticket  *ticket
	watch   []string // the paths of the nodes to wait for
	own     string   // the path of the ticket's node; "" if there can be none
	first   atomic.Pointer[holder]
	foreign error     // nil if an owner that excludes the ticket's has the key
	others  bool      // other programs have made some of the nodes to wait for
	until   time.Time // when the next node is over that does not end with a session; zero if there is none
}

// holder is the first node in the queue. Its content is zero if it was not read.
type holder struct {
	path string
	content
	read time.Time
}

// holderAge is how old the name of a holder may be before a waiter reads it again,
// unless it waits for that holder alone. To read it at each look would double the
// waiter's requests.
const holderAge = 10 * time.Second

func (o *obstacle) Watch(ctx context.Context) <-chan error {
	fired := make(chan error, len(o.watch))
	for _, path := range o.watch {
		go func() { fired <- o.backend.watches.wait(ctx, path) }()
	}
	return fired
}

// Remains implements [placequeue.Obstacle]. It looks at the ticket's node, if it has
// one, and at the node that it waits for. Other programs do not delete a node in front
// that is over: behind theirs, the whole queue is read.
func (o *obstacle) Remains(ctx context.Context) bool {
	if len(o.watch) != 1 || o.others || !o.until.IsZero() && !time.Now().Before(o.until) {
		return false
	}
	link, tk := o.backend.link, o.ticket
	if !tk.lock(ctx) {
		return false
	}
	defer tk.unlock()
	if tk.IsGone() || tk.node != o.own || o.session != link.session() {
		return false
	}
	other := link.stat(o.watch[0])
	if tk.node != "" {
		stat, err := link.stat(tk.node).wait(ctx)
		if err != nil || stat.EphemeralOwner != o.id {
			return false
		}
	}
	stat, err := other.wait(ctx)
	return err == nil && stat.Czxid != 0
}

// Err implements [placequeue.Obstacle]. To name a holder in another process is a
// request, but not again while the holder alone is in the way, and not often. The
// holder has had the key for at most the time since it joined the queue.
func (o *obstacle) Err(ctx context.Context, thorough bool) error {
	if o.foreign != nil {
		return o.foreign
	}
	b, first := o.backend, o.first.Load()
	if l, ok := b.table.HeldAt(first.path); ok {
		return l.HeldError()
	}
	if thorough && (first.stat.Czxid == 0 || first.path != o.watch[0]) && time.Since(first.read) >= holderAge {
		first = o.readFirst(ctx, first.path)
		o.first.Store(first)
	}
	held := &driver.HeldError{Holder: holderName(first.data)}
	if first.stat.Czxid != 0 {
		held.Held = max(time.Since(time.UnixMilli(first.stat.Ctime)), 0) // by the server's clock
	}
	if !o.until.IsZero() {
		held.RetryAfter = max(time.Until(o.until), 0)
	}
	return held
}

// readFirst returns the first node in the queue, which was at path. What is not known
// is left out.
func (o *obstacle) readFirst(ctx context.Context, path string) *holder {
	link := o.backend.link
	for {
		node, err := link.content(path).wait(ctx)
		if err != nil || node.stat.Czxid != 0 {
			return &holder{path, node, time.Now()}
		}
		q, _ := link.queue(ctx, o.ticket.parent) // the node was deleted since
		next := path
		if len(q) > 0 {
			next = o.ticket.parent + "/" + q[0].name
		}
		if next == path || q[0].guid == o.ticket.guid {
			return &holder{path: path, read: time.Now()}
		}
		path = next
	}
}
