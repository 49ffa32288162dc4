package zklock

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/internal/clock"
)

// view is what a ticket's owner sees of the queue.
type view struct {
	names []string // of all children of the key's node
	owner int64    // the session of the ticket's node
	zxid  int64    // ID of the transaction that created that node
	time  int64    // when that was, in milliseconds of the servers' clock
}

// create creates the node of tk, which the caller has locked, and reads the queue.
func (b *backend) create(ctx context.Context, tk *ticket, s *session) (view, error) {
	creation := begin(b.link, func(c *zk.Conn) (view, error) {
		node, err := b.link.createIn(c, tk.parent, nodePrefix(tk.guid, tk.kind), tk.data())
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
			// The last change of the queue is the creation of the node, or a deletion
			// since. A node that is created later has a larger ID than both.
			return view{names, s.id, parent.Pzxid, 0}, nil
		}
		exists, stat, err := c.Exists(node)
		if err != nil || !exists {
			return view{}, err
		}
		return view{names, stat.EphemeralOwner, stat.Czxid, stat.Ctime}, nil
	})
	tk.request = creation.done
	return creation.wait(ctx)
}

// look reads the queue and the node of tk as the leader knows them.
func (b *backend) look(ctx context.Context, tk *ticket) (view, error) {
	if _, err := b.link.sync().wait(ctx); err != nil {
		return view{}, err
	}
	children := b.link.children(tk.parent)
	stat, err := b.link.stat(tk.node).wait(ctx)
	if err != nil {
		return view{}, err
	}
	names, err := children.wait(ctx)
	return view{names, stat.EphemeralOwner, stat.Czxid, stat.Ctime}, err
}

// nothingDone reports whether the error says that the server has done nothing.
func nothingDone(err error) bool {
	return slices.ContainsFunc([]error{
		zk.ErrNoServer, zk.ErrNoNode, zk.ErrNoAuth, zk.ErrInvalidACL, zk.ErrInvalidPath, zk.ErrNodeExists,
		zk.ErrNoChildrenForEphemerals, zk.ErrSessionExpired, zk.ErrSessionMoved,
	}, func(e error) bool { return errors.Is(err, e) })
}

// find looks for the node of tk in session s if its creation is in doubt because the reply
// was lost. It deletes the nodes of the owner in other sessions.
func (b *backend) find(ctx context.Context, tk *ticket, s *session) error {
	if _, err := b.clean(ctx, tk); err != nil || !tk.inDoubt {
		return err
	}
	// The server of the present connection may not know the node yet.
	if _, err := b.link.sync().wait(ctx); err != nil {
		return err
	}
	q, err := b.link.queue(ctx, tk.parent)
	if err != nil {
		return err
	}
	own := ""
	var others []string
	for _, other := range q {
		if other.guid != tk.guid {
			continue
		}
		path := tk.parent + "/" + other.name
		stat, err := b.link.stat(path).wait(ctx)
		switch {
		case err != nil:
			return err
		case stat.EphemeralOwner == s.id:
			own = path
		case stat.Czxid != 0:
			others = append(others, path)
		}
	}
	if own != "" {
		tk.created(own, s)
	}
	tk.inDoubt, tk.unwanted = false, others
	_, err = b.clean(ctx, tk)
	return err
}

// delete deletes the node of a ticket that was given up. It reports whether there was
// one. After an error it continues in the background.
func (b *backend) delete(ctx context.Context, tk *ticket) (existed bool, err error) {
	if tk.lock(ctx) {
		existed, err = b.tryDelete(ctx, tk)
		tk.unlock()
	} else {
		err = b.link.cause(ctx)
	}
	if err != nil {
		b.deleteInBackground(tk)
	}
	return existed, err
}

// deleteInBackground deletes the node of a ticket that was given up. It returns at
// once. The deletion is repeated until the node or the session is gone.
func (b *backend) deleteInBackground(tk *ticket) {
	b.background.Run(func() {
		if !tk.lock(b.background) {
			return
		}
		defer tk.unlock()
		for b.background.Err() == nil {
			op, end := b.link.opContext(b.background)
			_, err := b.tryDelete(op, tk)
			end()
			if err == nil {
				return
			}
			clock.Sleep(b.background, retryPause)
		}
	})
}

// tryDelete deletes the node of a ticket that was given up and that the caller has
// locked. If the creation of the node is in doubt, it looks for the node first.
func (b *backend) tryDelete(ctx context.Context, tk *ticket) (existed bool, err error) {
	if !tk.isLeft() {
		return false, nil
	}
	s, err := b.link.ready(ctx)
	if err == nil {
		err = b.find(ctx, tk, s)
	}
	switch {
	case err != nil:
		return false, err
	case tk.keeping:
		tk.unwanted = []string{tk.node, tk.keptPath()}
	case tk.session == s: // otherwise the node ended with its session
		tk.unwanted = []string{tk.node}
	}
	tk.node = ""
	return b.clean(ctx, tk)
}

// clean deletes the nodes that the owner of tk does not want. It reports whether there was
// one. The caller has locked tk. After an error it is to be called again.
func (b *backend) clean(ctx context.Context, tk *ticket) (existed bool, err error) {
	for ; len(tk.unwanted) > 0; tk.unwanted = tk.unwanted[1:] {
		if tk.unwanted[0] == "" {
			continue
		}
		deletion := b.link.remove(tk.unwanted[0])
		tk.request = deletion.done
		was, err := deletion.wait(ctx)
		if err != nil {
			return existed, err
		}
		existed = existed || was
	}
	return existed, nil
}

// forget records that tk, which the caller has locked, has no node that is known, and so
// its owner does not have the key. It returns the path of the node before.
func (b *backend) forget(tk *ticket) (node string) {
	b.table.Lock()
	defer b.table.Unlock()
	b.table.SetLost(tk)
	node, tk.node, tk.inDoubt = tk.node, "", true
	return node
}
