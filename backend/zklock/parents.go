package zklock

import (
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"
)

// parents creates the nodes above the nodes of locks. The root and the nodes above it are
// persistent. The nodes below the root are containers, which the server deletes some time
// after their last child: at any time, even between two requests.
type parents struct{ opts *options }

// createIn creates an ephemeral sequential node, and the nodes above it if they do not exist.
// It returns the path of the node. It blocks.
func (p parents) createIn(c *zk.Conn, parent, name string, data []byte) (string, error) {
	for {
		node, err := c.Create(parent+"/"+name, data, zk.FlagEphemeralSequential, p.opts.acl)
		if !errors.Is(err, zk.ErrNoNode) {
			return node, denied(err, "create in", parent)
		}
		if err := p.create(c, parent); err != nil {
			return "", err
		}
	}
}

// create creates the node at path and those above it.
func (p parents) create(c *zk.Conn, path string) error {
	for {
		var err error
		if len(path) > len(p.opts.root) {
			_, err = c.CreateContainer(path, nil, zk.FlagContainer, p.opts.acl)
		} else {
			_, err = c.Create(path, nil, zk.FlagPersistent, p.opts.acl)
		}
		i := strings.LastIndexByte(path, '/')
		switch {
		case errors.Is(err, zk.ErrNodeExists):
			return nil
		case !errors.Is(err, zk.ErrNoNode) || i <= 0:
			return denied(err, "create", path)
		}
		if err := p.create(c, path[:i]); err != nil {
			return err
		}
	}
}
