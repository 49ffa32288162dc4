package etcdlock

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// Release implements [driver.Backend]. It deletes the owner's place, in one request. If
// there is no answer it returns an error and continues in the background until the place
// or the lease of etcd is gone. It fails with [driver.ErrLost] if g has tokens and the place
// was already gone, or if another owner has the key. Repeating a release that had no answer
// is not an error, for a bounded number of past releases.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	if b.background.Err() != nil {
		return errClosed
	}
	op, end := b.opContext(ctx)
	defer end()
	id := placequeue.ID{Key: g.Key, Owner: g.Owner}
	tk, wasHeld, ok := b.table.Release(id)
	if !ok {
		return b.releaseUnknown(op, &g)
	}
	l, ok := b.table.leftover(tk)
	if !ok {
		return nil
	}
	resp, err := b.client.Delete(op, l.path)
	switch {
	case err != nil:
		l.doubt = l.session.fence.Load()
		b.sweeper.add(l)
		b.table.SetUnanswered(id)
		return b.explain(op, err)
	case l.doubt != 0:
		b.sweeper.add(l)
	default:
		b.table.deleted(l)
	}
	if wasHeld && resp.Deleted == 0 {
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
			if _, err := p.delete(ctx, b.client); err != nil {
				return b.explain(ctx, err)
			}
		}
	}
	switch {
	case found, b.table.WasUnanswered(placequeue.ID{Key: g.Key, Owner: g.Owner}):
		return nil
	case len(q) > 0:
		return fmt.Errorf("etcdlock: another has the key: %w", driver.ErrLost)
	case g.Token != 0:
		return fmt.Errorf("etcdlock: the lease has ended: %w", driver.ErrLost)
	}
	return nil
}

// delete deletes a place of any process, but not the next one with the same name.
func (p *place) delete(ctx context.Context, c *clientv3.Client) (deleted bool, err error) {
	resp, err := c.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(p.path), "=", p.created)).
		Then(clientv3.OpDelete(p.path)).Commit()
	return err == nil && resp.Succeeded, err
}
