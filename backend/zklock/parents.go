package zklock

import (
	"errors"
	"strings"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

// parents makes the nodes above those of a lock: the root for ever, what is below
// it as containers, which the server deletes some time after their last child.
// Servers older than 3.5 know no containers, and keep the nodes.
type parents struct {
	link         *link
	opts         *options
	noContainers atomic.Bool
}

// make makes path and what is above it. It blocks.
func (p *parents) make(c *zk.Conn, path string) error {
	err := p.one(c, path)
	for range 3 { // another may delete what is above just then
		if !errors.Is(err, zk.ErrNoNode) {
			break
		}
		if i := strings.LastIndexByte(path, '/'); i > 0 {
			if err := p.make(c, path[:i]); err != nil {
				return err
			}
		}
		err = p.one(c, path)
	}
	return err
}

func (p *parents) one(c *zk.Conn, path string) error {
	var err error
	if len(path) > len(p.opts.root) && !p.noContainers.Load() {
		_, err = c.CreateContainer(path, nil, zk.FlagContainer, p.opts.acl)
		if errors.Is(err, zk.ErrUnknown) {
			p.noContainers.Store(true)
			return p.one(c, path)
		}
	} else {
		_, err = c.Create(path, nil, zk.FlagPersistent, p.opts.acl)
	}
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}
