package zklock

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// lastLookTimeout limits the time to find the holder of the key when a wait is over: the
// caller may have no time left.
const lastLookTimeout = 100 * time.Millisecond

// heldError returns the error that names the holder of the key: the owner of the first
// node in the queue. It has held the key for the time, by the servers' clock, from the
// creation of that node to the creation of our own, plus the time that has passed here
// since then. Values that are not known are left out.
func (b *Backend) heldError(ctx context.Context, key string, o obstacle) *driver.HeldError {
	held := &driver.HeldError{}
	if g, since, ok := b.table.grantAt(key, o.first); ok {
		held.Holder = driver.HolderOf(g.Owner)
		held.Held, held.RetryAfter = time.Since(since), max(time.Until(g.Sent.Add(g.TTL)), 0)
		return held
	}
	first, own := b.link.content(o.first), b.link.stat(o.own)
	node, err := first.wait(ctx)
	if err != nil || node.stat.Czxid == 0 {
		return held
	}
	held.Holder = holderName(node.data)
	if stat, err := own.wait(ctx); err == nil && stat.Czxid != 0 {
		between := time.Duration(stat.Ctime-node.stat.Ctime) * time.Millisecond
		held.Held = max(between+time.Since(o.createdAt), 0)
	}
	return held
}

// lastHeldError is heldError for the end of a wait. It works even if ctx has ended. If there
// is a stranger by now, it returns that error.
func (b *Backend) lastHeldError(ctx context.Context, tk *ticket, o obstacle) error {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), min(lastLookTimeout, b.opts.opTimeout))
	defer end()
	names, err := b.link.children(tk.parent).wait(ctx)
	if err != nil {
		return &driver.HeldError{}
	}
	q, err := parseQueue(names)
	if err != nil {
		return &driver.HeldError{}
	}
	if other, err := b.stranger(ctx, tk.parent, names, q, tk.kind); err == nil && other != nil {
		return other.err
	}
	if len(q) > 0 && q[0].guid != tk.guid {
		o.first = tk.parent + "/" + q[0].name
		return b.heldError(ctx, tk.id.key, o)
	}
	return &driver.HeldError{}
}
