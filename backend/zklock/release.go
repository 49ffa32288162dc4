package zklock

import (
	"context"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// Release implements [driver.Backend]. It deletes the owner's node, in one round trip.
// Without an answer it continues in the background until the node or the session is
// gone. To repeat it is then no error, for a bounded number of past releases.
func (b *backend) Release(ctx context.Context, g driver.Grant) error {
	op, end := b.link.opContext(ctx)
	defer end()
	return b.table.Release(&g,
		func(tk *ticket) (existed bool, err error) { return b.delete(op, tk) },
		func() (found bool, queued int, err error) { return b.deleteAll(op, &g) })
}

// deleteAll deletes the nodes of g's owner that it finds in the queue.
func (b *backend) deleteAll(ctx context.Context, g *driver.Grant) (found bool, queued int, err error) {
	parent := b.path(g.Key)
	q, err := b.queue(ctx, parent)
	if err != nil {
		return false, 0, err
	}
	found, err = placequeue.Each(q, func(n node) (bool, error) {
		if n.guid != guidOf(g.Owner) {
			return false, nil
		}
		_, err := b.link.remove(parent + "/" + n.name).wait(ctx)
		return true, err
	})
	return found, len(q), err
}
