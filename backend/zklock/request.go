package zklock

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// confirm returns when there is a session and the leader has answered. What is read
// afterwards is at least as new as the leader's state at the time of the call.
func (l *link) confirm(ctx context.Context) error {
	if _, err := l.ready(ctx); err != nil {
		return err
	}
	_, err := l.sync().wait(ctx)
	return err
}

// children returns the names of the children of a node; none if there is no such node.
func (l *link) children(path string) *pending[[]string] {
	return begin(l, func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil, nil
		}
		return names, denied(err, "read", path)
	})
}

// queue returns the queue below a node, as the connected server knows it.
func (l *link) queue(ctx context.Context, path string) (queue, error) {
	names, err := l.children(path).wait(ctx)
	if err != nil {
		return nil, err
	}
	return parseQueue(names)
}

// stat returns the metadata of a node; zero if there is no such node.
func (l *link) stat(path string) *pending[zk.Stat] {
	return begin(l, func(c *zk.Conn) (zk.Stat, error) {
		ok, stat, err := c.Exists(path)
		if err != nil || !ok {
			return zk.Stat{}, err
		}
		return *stat, nil
	})
}

// content is the data of a node and its metadata.
type content struct {
	data []byte
	stat zk.Stat
}

// content returns the content of a node; zero if there is no such node.
func (l *link) content(path string) *pending[content] {
	return begin(l, func(c *zk.Conn) (content, error) {
		data, stat, err := c.Get(path)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return content{}, nil
		case err != nil:
			return content{}, denied(err, "read", path)
		default:
			return content{data, *stat}, nil
		}
	})
}

// set writes the data of a node that has this version, and returns its new metadata.
func (l *link) set(path string, data []byte, version int32) *pending[*zk.Stat] {
	return begin(l, func(c *zk.Conn) (*zk.Stat, error) {
		stat, err := c.Set(path, data, version)
		return stat, denied(err, "write", path)
	})
}

// remove deletes a node. It returns false if there is no such node.
func (l *link) remove(path string) *pending[bool] {
	return begin(l, func(c *zk.Conn) (bool, error) {
		err := c.Delete(path, -1)
		if errors.Is(err, zk.ErrNoNode) {
			return false, nil
		}
		return err == nil, denied(err, "delete", path)
	})
}

// sync returns when the connected server has caught up with the state that the leader
// had after the call. A server that is cut off from the leader does not answer.
func (l *link) sync() *pending[string] {
	return begin(l, func(c *zk.Conn) (string, error) { return c.Sync("/") })
}

// createIn creates an ephemeral sequential node, and the nodes above it if they do not
// exist. It returns the path of the node. It blocks.
func (l *link) createIn(c *zk.Conn, parent, name string, data []byte) (string, error) {
	for {
		node, err := c.Create(parent+"/"+name, data, zk.FlagEphemeralSequential, l.config.ACL)
		if !errors.Is(err, zk.ErrNoNode) {
			return node, denied(err, "create in", parent)
		}
		if err := l.createAll(c, parent); err != nil {
			return "", err
		}
	}
}

// createAll creates the node at path and all above it. The root and the nodes above
// it are persistent. The nodes below the root are containers, which the server deletes
// some time after their last child: at any time, even between two requests.
func (l *link) createAll(c *zk.Conn, path string) error {
	for {
		var err error
		if len(path) > len(l.config.Root) {
			_, err = c.CreateContainer(path, nil, zk.FlagContainer, l.config.ACL)
		} else {
			_, err = c.Create(path, nil, zk.FlagPersistent, l.config.ACL)
		}
		i := strings.LastIndexByte(path, '/')
		switch {
		case errors.Is(err, zk.ErrNodeExists):
			return nil
		case !errors.Is(err, zk.ErrNoNode) || i <= 0:
			return denied(err, "create", path)
		}
		if err := l.createAll(c, path[:i]); err != nil {
			return err
		}
	}
}

// keptUntil returns the end of a node that is kept, or false for another one. If
// another program has replaced the data, as Curator's Revoker does to ask for the key,
// the node is over.
func (c *content) keptUntil(name string) (end time.Time, kept bool) {
	n, _ := parseNode(path.Base(name))
	d, _, ok := parseKept(c.data)
	if !ok {
		return time.Time{}, n.kept
	}
	return time.UnixMilli(c.stat.Mtime + 1).Add(d), n.kept
}
