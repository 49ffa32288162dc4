package zklock

import (
	"context"
	"errors"
	"sync"

	"github.com/go-zookeeper/zk"
)

// nodes creates, finds and deletes the nodes of tickets.
type nodes struct {
	opts       *options
	link       *link
	background *background
	parents    parents
	deleting   sync.Map // the paths of nodes that are being deleted: search leaves them out
}

// view is what a ticket's owner sees of the queue.
type view struct {
	names []string // of all children of the key's node
	owner int64    // the session of the ticket's node
	zxid  int64    // ID of the transaction that created that node
}

// create creates the node of tk, which the caller has locked, and reads the queue. A caller
// that does not wait for the result must call abandon.
func (n *nodes) create(tk *ticket, s *session) *pending[view] {
	return begin(n.link, func(c *zk.Conn) (view, error) {
		node, err := n.parents.createIn(c, tk.parent, nodePrefix(tk.guid, tk.kind), tk.data())
		switch {
		case errors.Is(err, zk.ErrNoChildrenForEphemerals):
			return view{}, errEphemeral
		case err != nil:
			tk.inDoubt = tk.inDoubt || !nothingDone(err)
			return view{}, err
		}
		tk.created(node, s)
		names, parent, err := c.Children(tk.parent)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return view{}, nil
		case err != nil:
			return view{}, denied(err, "read", tk.parent)
		case len(names) == 1:
			// The last change of the queue is the creation of the node, or a deletion since.
			// A node that is created later has a larger ID than both.
			return view{names, s.id, parent.Pzxid}, nil
		}
		exists, stat, err := c.Exists(node)
		if err != nil || !exists {
			return view{}, err
		}
		return view{names, stat.EphemeralOwner, stat.Czxid}, nil
	})
}

// look reads the queue and the node of tk as the leader knows them.
func (n *nodes) look(ctx context.Context, tk *ticket) (view, error) {
	if _, err := n.link.sync().wait(ctx); err != nil {
		return view{}, err
	}
	children := n.link.children(tk.parent)
	stat, err := n.link.stat(tk.node).wait(ctx)
	if err != nil {
		return view{}, err
	}
	names, err := children.wait(ctx)
	return view{names, stat.EphemeralOwner, stat.Czxid}, err
}

// nothingDone reports whether the error says that the server has done nothing.
func nothingDone(err error) bool {
	for _, e := range []error{
		zk.ErrNoServer, zk.ErrNoNode, zk.ErrNoAuth, zk.ErrInvalidACL, zk.ErrInvalidPath, zk.ErrNodeExists,
		zk.ErrNoChildrenForEphemerals, zk.ErrSessionExpired, zk.ErrSessionMoved,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// abandon waits for the result of create in place of its caller, and unlocks tk. If tk
// was given up by then, a deletion waits for that.
func (n *nodes) abandon(tk *ticket, creation *pending[view]) {
	<-creation.done
	tk.unlock()
}

// find looks for the node of tk if its creation is in doubt because the reply was lost.
// A node with the owner's UUID that belongs to another session is an orphan. It is
// deleted.
func (n *nodes) find(ctx context.Context, tk *ticket, s *session) error {
	if !tk.inDoubt {
		return nil
	}
	found, orphans, err := n.search(ctx, tk, s)
	if err != nil {
		return err
	}
	for _, path := range orphans {
		n.deleteOrphan(path)
	}
	if len(found) > 0 {
		tk.created(found[0], s)
		for _, path := range found[1:] {
			n.deleteOrphan(path)
		}
	}
	tk.inDoubt = false
	return nil
}

// search returns the paths of the nodes of tk's owner: found are those of session s in
// their order, orphans are the others. Nodes that are being deleted are left out.
func (n *nodes) search(ctx context.Context, tk *ticket, s *session) (found, orphans []string, err error) {
	// The server of the present connection may not know the node yet.
	if _, err := n.link.sync().wait(ctx); err != nil {
		return nil, nil, err
	}
	names, err := n.link.children(tk.parent).wait(ctx)
	if err != nil {
		return nil, nil, err
	}
	q, err := parseQueue(names)
	if err != nil {
		return nil, nil, err
	}
	for _, other := range q {
		path := tk.parent + "/" + other.name
		if _, deleting := n.deleting.Load(path); deleting || other.guid != tk.guid {
			continue
		}
		stat, err := n.link.stat(path).wait(ctx)
		switch {
		case err != nil:
			return nil, nil, err
		case stat.EphemeralOwner == s.id && other.kind == tk.kind:
			found = append(found, path)
		case stat.Czxid != 0:
			orphans = append(orphans, path)
		}
	}
	return found, orphans, nil
}

// delete deletes the node of a ticket that was given up. It reports whether there was
// one. After an error it continues in the background.
func (n *nodes) delete(ctx context.Context, tk *ticket) (existed bool, err error) {
	if !tk.lock(ctx) {
		n.deleteInBackground(tk)
		return false, n.link.cause(ctx)
	}
	existed, err = n.tryDelete(ctx, tk)
	tk.unlock()
	if err != nil {
		n.deleteInBackground(tk)
	}
	return existed, err
}

// deleteInBackground deletes the node of a ticket that was given up. It returns at once.
// The deletion is repeated until the node or the session is gone.
func (n *nodes) deleteInBackground(tk *ticket) {
	n.background.run(func() {
		if !tk.lock(n.background.ctx) {
			return
		}
		defer tk.unlock()
		n.background.retry(func(ctx context.Context) error {
			op, end := n.link.opContext(ctx)
			defer end()
			_, err := n.tryDelete(op, tk)
			return err
		})
	})
}

// tryDelete deletes the node of a ticket that was given up and that the caller has
// locked. If the creation of the node is in doubt, it looks for the node first.
func (n *nodes) tryDelete(ctx context.Context, tk *ticket) (existed bool, err error) {
	if tk.node == "" && !tk.inDoubt {
		return false, nil
	}
	s, err := n.link.ready(ctx)
	if err != nil {
		return false, err
	}
	if tk.node != "" {
		if tk.session == s {
			n.deleting.Store(tk.node, true)
			if existed, err = n.link.remove(tk.node).wait(ctx); err != nil {
				return false, err
			}
			n.deleting.Delete(tk.node)
		}
		tk.node = ""
		return existed, nil
	}
	found, orphans, err := n.search(ctx, tk, s)
	if err != nil {
		return false, err
	}
	for _, path := range append(found, orphans...) {
		if _, err := n.link.remove(path).wait(ctx); err != nil {
			return false, err
		}
	}
	tk.inDoubt = false
	return len(found) > 0, nil
}

// deleteOrphan deletes a node in the background.
func (n *nodes) deleteOrphan(path string) {
	n.deleting.Store(path, true)
	n.background.run(func() {
		n.background.retry(func(ctx context.Context) error {
			op, end := n.link.opContext(ctx)
			defer end()
			if _, err := n.link.ready(op); err != nil {
				return err
			}
			_, err := n.link.remove(path).wait(op)
			return err
		})
		n.deleting.Delete(path)
	})
}

// withdraw deletes the node of tk, which the caller has locked and whose owner remains. After
// an error it continues in the background.
func (n *nodes) withdraw(ctx context.Context, tk *ticket) error {
	path := tk.node
	tk.node = ""
	n.deleting.Store(path, true)
	if _, err := n.link.remove(path).wait(ctx); err != nil {
		n.deleteOrphan(path)
		return err
	}
	n.deleting.Delete(path)
	return nil
}
