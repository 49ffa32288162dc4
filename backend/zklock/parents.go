package zklock

import (
	"errors"
	"strings"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

// parents creates the nodes above the nodes of locks. The root and the nodes above it are
// persistent. The nodes below the root are containers, which the server deletes some time
// after their last child. Servers older than 3.5 have no containers: there the nodes
// stay.
type parents struct {
	opts         *options
	noContainers atomic.Bool
}

// create creates the node at path and those above it. It blocks.
func (p *parents) create(c *zk.Conn, path string) error {
	err := p.createOne(c, path)
	for range 3 { // the node above may be deleted again at any time
		if !errors.Is(err, zk.ErrNoNode) {
			break
		}
		if i := strings.LastIndexByte(path, '/'); i > 0 {
			if err := p.create(c, path[:i]); err != nil {
				return err
			}
		}
		err = p.createOne(c, path)
	}
	return err
}

func (p *parents) createOne(c *zk.Conn, path string) error {
	var err error
	if len(path) > len(p.opts.root) && !p.noContainers.Load() {
		_, err = c.CreateContainer(path, nil, zk.FlagContainer, p.opts.acl)
		if errors.Is(err, zk.ErrUnknown) {
			p.noContainers.Store(true)
			return p.createOne(c, path)
		}
	} else {
		_, err = c.Create(path, nil, zk.FlagPersistent, p.opts.acl)
	}
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return denied(err, "create", path)
}
