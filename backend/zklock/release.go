package zklock

import (
	"context"
	"fmt"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// Release implements [driver.Backend]. It deletes the owner's node, in one round trip. If
// there is no answer it returns an error and continues in the background until the node
// or the session is gone. It fails with [driver.ErrLost] if g has tokens and the node was
// already gone, or if another owner has the key. Repeating a release that had no answer is
// not an error, for a bounded number of past releases.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	op, end := b.link.opContext(ctx)
	defer end()
	id := placequeue.ID{Key: g.Key, Owner: g.Owner}
	tk, wasHeld, ok := b.table.Release(id)
	if !ok {
		return b.releaseUnknown(op, b.path(g.Key), &g)
	}
	existed, err := b.nodes.delete(op, tk)
	switch {
	case err != nil:
		b.table.SetUnanswered(id)
		return err
	case wasHeld && !existed:
		return fmt.Errorf("zklock: the owner's node was deleted: %w", driver.ErrLost)
	}
	return nil
}

// releaseUnknown releases the key for an owner that has no ticket. It deletes the nodes of
// the owner that it finds in the queue.
func (b *Backend) releaseUnknown(ctx context.Context, parent string, g *driver.Grant) error {
	q, err := b.queue(ctx, parent)
	if err != nil {
		return err
	}
	guid, found := guidOf(g.Owner), false
	for _, n := range q {
		if n.guid != guid {
			continue
		}
		found = true
		if _, err := b.link.remove(parent + "/" + n.name).wait(ctx); err != nil {
			return err
		}
	}
	switch {
	case found, b.table.WasUnanswered(placequeue.ID{Key: g.Key, Owner: g.Owner}):
		return nil
	case len(q) > 0:
		return fmt.Errorf("zklock: another has the key: %w", driver.ErrLost)
	case g.Token != 0:
		return fmt.Errorf("zklock: the lease has ended: %w", driver.ErrLost)
	}
	return nil
}
