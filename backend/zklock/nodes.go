package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/driver"
)

// errEphemeral: another program has an ephemeral node in place of the key's node. Such
// a node cannot have children.
var errEphemeral = fmt.Errorf("%w: %s", driver.ErrForeign, ephemeralNode)

const ephemeralNode = "ephemeral node"

// birth is how a node was made.
type birth struct {
	sent time.Time // just before the request was
	zxid int64     // of the transaction; 0 if it is not known
}

// create makes the node of p, whose turn the caller has. If the caller does not
// wait for it, abandon has to.
func (b *Backend) create(ctx context.Context, p *place, s *session) *pending[birth] {
	return begin(b.link, func(c *zk.Conn) (birth, error) {
		path := p.parent + "/" + nodePrefix(p.guid, p.kind)
		for {
			sent := time.Now()
			p.made = sent
			node, err := c.Create(path, p.data(), zk.FlagEphemeralSequential, b.opts.acl)
			switch {
			case err == nil:
				p.node, p.session, p.doubt = node, s, false
				return birth{sent, b.link.births.take(node)}, nil
			case errors.Is(err, zk.ErrNoChildrenForEphemerals):
				return birth{}, errEphemeral
			case !errors.Is(err, zk.ErrNoNode):
				p.doubt = p.doubt || !certain(err)
				return birth{}, err
			case ctx.Err() != nil:
				return birth{}, b.link.cause(ctx)
			}
			// The server deletes containers that are empty, also between these two.
			if err := b.parents.make(c, p.parent); err != nil {
				return birth{}, err
			}
		}
	})
}

// certain reports whether an error says that nothing was done.
func certain(err error) bool {
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

// abandon waits for what the caller of create did not wait for, and puts back its
// turn. The place may have been given up by then.
func (b *Backend) abandon(p *place, made *pending[birth]) {
	<-made.done
	gone := p.isGone()
	p.put()
	if gone {
		b.clear(p)
	}
}

// find looks for the node of p if there may be one that is not known, because the
// reply to its creation was lost. What has the owner's UUID and belongs to another
// session is an orphan.
func (b *Backend) find(ctx context.Context, p *place, s *session) error {
	if !p.doubt {
		return nil
	}
	found, orphans, err := b.search(ctx, p, s)
	if err != nil {
		return err
	}
	for _, path := range orphans {
		b.sweep(path)
	}
	if len(found) > 0 {
		p.node, p.session = found[0], s
		for _, path := range found[1:] {
			b.sweep(path)
		}
	}
	p.doubt = false
	return nil
}

// search returns the paths of the nodes of p's owner: those of our session in
// their order, and others. Those that are being deleted are not among them.
func (b *Backend) search(ctx context.Context, p *place, s *session) (found, orphans []string, err error) {
	// The server that we are connected to now may not have heard of it yet.
	if _, err := b.link.sync().wait(ctx); err != nil {
		return nil, nil, err
	}
	names, err := b.link.children(p.parent).wait(ctx)
	if err != nil {
		return nil, nil, err
	}
	l, err := parseLine(names)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range l {
		path := p.parent + "/" + n.name
		if n.guid != p.guid || b.table.condemned(path) {
			continue
		}
		stat, err := b.link.stat(path).wait(ctx)
		switch {
		case err != nil:
			return nil, nil, err
		case stat.EphemeralOwner == s.id && n.kind == p.kind:
			found = append(found, path)
		case stat.Czxid != 0:
			orphans = append(orphans, path)
		}
	}
	return found, orphans, nil
}
