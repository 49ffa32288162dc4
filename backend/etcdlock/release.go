package etcdlock

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/driver"
)

// Release implements [driver.Backend]. It deletes the owner's place, in one request. If
// there is no answer it returns an error and continues in the background until the place
// or the lease of etcd is gone. It fails with [driver.ErrLost] if g has tokens and the place
// was already gone, or if another owner has the key. Repeating a release that had no answer
// is not an error, for a bounded number of past releases.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	op, end := b.opContext(ctx)
	defer end()
	id := ticketID{g.Key, g.Owner}
	path, l, wasHeld, ok := b.table.release(id)
	switch {
	case !ok:
		return b.releaseUnknown(op, &g)
	case path == "":
		return nil
	}
	resp, err := b.client.Delete(op, path)
	if err != nil || l.doubt != 0 {
		b.sweeper.add(path, l)
	}
	switch {
	case err != nil:
		b.table.setUnanswered(id)
		return b.explain(op, err)
	case wasHeld && resp.Deleted == 0:
		return errNotHeld
	}
	return nil
}

// releaseUnknown releases the key for an owner that has no ticket. It deletes the places of
// the owner that it finds in the queue.
func (b *Backend) releaseUnknown(ctx context.Context, g *driver.Grant) error {
	q, _, err := b.queue(ctx, g.Key)
	if err != nil {
		return err
	}
	found := false
	for _, p := range q {
		if p.owner == g.Owner {
			found = true
			if _, err := b.client.Delete(ctx, p.path); err != nil {
				return b.explain(ctx, err)
			}
		}
	}
	switch {
	case found, b.table.wasUnanswered(ticketID{g.Key, g.Owner}):
		return nil
	case len(q) > 0:
		return fmt.Errorf("etcdlock: another has the key: %w", driver.ErrLost)
	case g.Token != 0:
		return fmt.Errorf("etcdlock: the lease has ended: %w", driver.ErrLost)
	}
	return nil
}

// deletes returns the operations that delete places.
func (q queue) deletes() []clientv3.Op {
	ops := make([]clientv3.Op, len(q))
	for i, p := range q {
		ops[i] = clientv3.OpDelete(p.path)
	}
	return ops
}
