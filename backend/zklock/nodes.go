package zklock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// nodes creates, finds and deletes the nodes of tickets.
type nodes struct {
	opts       *options
	link       *link
	background *background
	parents    *parents

	mu       sync.Mutex
	deleting map[string]bool // the paths of nodes that are being deleted
}

// created describes the creation of a node.
type created struct {
	sent time.Time // just before the request was sent
	zxid int64     // ID of the transaction; 0 if it is not known
}

// create creates the node of tk, which the caller has locked. A caller that does not wait
// for the result must call abandon.
func (n *nodes) create(ctx context.Context, tk *ticket, s *session) *pending[created] {
	return begin(n.link, func(c *zk.Conn) (created, error) {
		path := tk.parent + "/" + nodePrefix(tk.guid, tk.kind)
		for {
			sent := time.Now()
			tk.createdAt = sent
			node, err := c.Create(path, tk.data(), zk.FlagEphemeralSequential, n.opts.acl)
			err = denied(err, "create in", tk.parent)
			switch {
			case err == nil:
				tk.node, tk.session, tk.inDoubt = node, s, false
				return created{sent, n.link.createZxids.take(node)}, nil
			case errors.Is(err, zk.ErrNoChildrenForEphemerals):
				return created{}, errEphemeral
			case !errors.Is(err, zk.ErrNoNode):
				tk.inDoubt = tk.inDoubt || !nothingDone(err)
				return created{}, err
			case ctx.Err() != nil:
				return created{}, n.link.cause(ctx)
			}
			// The server may delete an empty container at any time, even before the next
			// request.
			if err := n.parents.create(c, tk.parent); err != nil {
				return created{}, err
			}
		}
	})
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
func (n *nodes) abandon(tk *ticket, creation *pending[created]) {
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
		tk.node, tk.session = found[0], s
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
		if other.guid != tk.guid || n.isDeleting(path) {
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
			var watched *counter
			if tk.first == tk.node {
				watched = n.link.counters.watched(tk.parent)
			}
			n.markDeleting(tk.node)
			if existed, err = n.link.remove(tk.node).wait(ctx); err != nil {
				return false, err
			}
			n.unmarkDeleting(tk.node)
			if existed && watched != nil {
				n.link.counters.gone(watched, tk.number())
			}
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
	n.markDeleting(path)
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
		n.unmarkDeleting(path)
	})
}

// withdraw deletes the node of tk, which the caller has locked and whose owner remains. After
// an error it continues in the background.
func (n *nodes) withdraw(ctx context.Context, tk *ticket) error {
	path := tk.node
	tk.node = ""
	n.markDeleting(path)
	if _, err := n.link.remove(path).wait(ctx); err != nil {
		n.deleteOrphan(path)
		return err
	}
	n.unmarkDeleting(path)
	return nil
}

// markDeleting records that the deletion of a node has begun. Until unmarkDeleting is
// called, search leaves it out.
func (n *nodes) markDeleting(path string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.deleting[path] = true
}

func (n *nodes) unmarkDeleting(path string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.deleting, path)
}

func (n *nodes) isDeleting(path string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.deleting[path]
}
