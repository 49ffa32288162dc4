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
	watch   []string                // the paths of the nodes to wait for
	own     string                  // the path of the ticket's node; "" if there can be none
	first   string                  // the path of the first node in the queue
	holder  atomic.Pointer[content] // of that node; nil if it was not read
	seen    time.Time               // when the queue was read
	foreign error                   // nil if an owner that excludes the ticket's has the key
	others  bool                    // other programs have made some of the nodes to wait for
	until   time.Time               // when the next node is over that does not end with a session; zero if there is none
}

// holderAge is how old the name of a holder may be, unless a waiter waits for that holder
// alone. To read it at each look would double the waiter's requests.
const holderAge = 10 * time.Second

func (o *obstacle) Watch(ctx context.Context) <-chan struct{} {
	fired := make(chan struct{}, len(o.watch))
	for _, path := range o.watch {
		go func() {
			o.backend.watches.wait(ctx, path)
			fired <- struct{}{}
		}()
	}
	return fired
}

// Remains implements [placequeue.Obstacle]. It looks at the ticket's node, if it has
// one, and at the node that it waits for. Other programs do not delete a node in front
// that is over: behind theirs, the whole queue is read. So it is at times if another node
// is the first, to name its owner.
func (o *obstacle) Remains(ctx context.Context) bool {
	if len(o.watch) != 1 || o.others || o.first != o.watch[0] && time.Since(o.seen) >= holderAge || !o.until.IsZero() && !time.Now().Before(o.until) {
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
// request, once for each obstacle. The holder has had the key for at most the time since
// it joined the queue.
func (o *obstacle) Err(ctx context.Context, thorough bool) error {
	if o.foreign != nil {
		return o.foreign
	}
	if l, ok := o.backend.table.HeldAt(o.first); ok {
		return l.HeldError()
	}
	holder := o.holder.Load()
	if holder == nil {
		holder = new(content)
		if thorough {
			*holder, _ = o.backend.link.content(o.first).wait(ctx) // what is not known is left out
			o.holder.Store(holder)
		}
	}
	held := &driver.HeldError{Holder: holderName(holder.data)}
	if holder.stat.Czxid != 0 {
		held.Held = max(time.Since(time.UnixMilli(holder.stat.Ctime)), 0) // by the server's clock
	}
	if !o.until.IsZero() {
		held.RetryAfter = max(time.Until(o.until), 0)
	}
	return held
}
