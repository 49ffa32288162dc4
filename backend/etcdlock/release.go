package etcdlock

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// Release implements [driver.Backend]. It deletes the owner's place, in one request.
// Without an answer it continues in the background until the place or the lease of etcd
// is gone. To repeat it is then no error, for a bounded number of past releases.
func (b *backend) Release(ctx context.Context, g driver.Grant) error {
	if b.background.Err() != nil {
		return errClosed
	}
	op, end := b.opContext(ctx)
	defer end()
	return b.table.Release(&g,
		func(tk *ticket) (existed bool, err error) { return b.deletePlace(op, tk) },
		func() (found bool, queued int, err error) { return b.deleteAll(op, &g) })
}

// deletePlace deletes the place of a ticket that has left the table. After an error it
// continues in the background.
func (b *backend) deletePlace(ctx context.Context, tk *ticket) (existed bool, err error) {
	if !b.table.leave(tk) {
		return false, nil
	}
	resp, again, err := twice(ctx, b.link, func(ctx context.Context) (*clientv3.DeleteResponse, error) {
		return b.client.Delete(ctx, tk.path)
	})
	if err != nil || again { // a deletion may arrive late
		b.sweeper.deleted(tk, tk.session.fence.Load())
		return again, b.explain(ctx, err)
	}
	b.sweeper.deleted(tk, 0)
	return resp.Deleted > 0, nil
}

// deleteAll deletes the places of g's owner that it finds in the queue.
func (b *backend) deleteAll(ctx context.Context, g *driver.Grant) (found bool, queued int, err error) {
	q, _, err := b.queue(ctx, g.Key)
	if err != nil {
		return false, 0, err
	}
	found, err = placequeue.Each(q, func(p place) (bool, error) {
		if p.owner != g.Owner {
			return false, nil
		}
		_, err := b.delete(ctx, &p)
		return true, err
	})
	return found, len(q), err
}

// delete deletes a place of any process, but not the next one with the same name.
func (b *backend) delete(ctx context.Context, p *place) (deleted bool, err error) {
	resp, again, err := b.txn(ctx, []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(p.path), "=", p.created)},
		clientv3.OpDelete(p.path))
	return err == nil && (resp.Succeeded || again), b.explain(ctx, err)
}
