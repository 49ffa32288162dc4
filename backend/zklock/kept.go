package zklock

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// A node that is kept stands for an owner that is done, and has the number of its node.
// It does not end with a session. Its data are how long it lasts after they were
// written, by the clock of the servers, and the name of the holder. Whoever finds it
// later deletes it.

// keep replaces the node of an owner that is done by one that is kept. It returns false
// if the node does not exist.
func (b *backend) keep(ctx context.Context, r *renewal) (kept bool, err error) {
	tk := r.Ticket
	if !tk.lock(ctx) {
		return false, b.link.cause(ctx)
	}
	if tk.node != r.Place { // it was released meanwhile
		tk.unlock()
		return false, nil
	}
	tk.keeping = true
	own, keeps, data := tk.node, tk.keptPath(), keptData(r.Asked.TTL, tk.data())
	return begin(b.link, func(c *zk.Conn) (bool, error) {
		defer tk.unlock()
		err := zk.ErrNoNode
		if own != keeps {
			_, err = c.Multi(&zk.DeleteRequest{Path: own, Version: -1}, &zk.CreateRequest{Path: keeps, Data: data, Acl: b.config.ACL})
		}
		if errors.Is(err, zk.ErrNoNode) { // perhaps an earlier request had no answer
			_, err = c.Set(keeps, data, -1)
		}
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return false, nil
		case err != nil:
			return false, denied(err, "create in", tk.parent)
		}
		tk.node = keeps
		tk.kept.Store(true)
		b.table.Move(tk, keeps)
		return true, nil
	}).wait(ctx)
}

// endKept deletes the nodes at these paths that are over at a time of the servers'
// clock. It reports whether there were any, and the time that is left of the others.
func (b *backend) endKept(ctx context.Context, paths []string, now time.Time) (left time.Duration, over bool, err error) {
	for _, path := range paths {
		node, err := b.link.content(path).wait(ctx)
		if err != nil {
			return 0, false, err
		}
		end, _ := node.keptUntil(path)
		switch rest := end.Sub(now); {
		case rest <= 0: // also if the node is gone
			if _, err := b.link.remove(path).wait(ctx); err != nil {
				return 0, false, err
			}
			over = true
		case left == 0 || rest < left:
			left = rest
		}
	}
	return left, over, nil
}
