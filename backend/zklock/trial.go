package zklock

import (
	"cmp"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

// trialName begins the names of the nodes of trials. They are below the node of the empty
// key, which is the key of no lock.
const trialName = "trial-"

// trial does once what a lock does. So a user that lacks a permission is refused before it
// has a lock that it cannot give back.
type trial struct {
	passed atomic.Bool

	mu   sync.Mutex
	node string // path of a node that could not be deleted
}

// begin begins a trial, unless one was successful before. The value is false if the error
// is about the creation of the node.
func (t *trial) begin(n *nodes) *pending[bool] {
	return begin(n.link, func(c *zk.Conn) (created bool, err error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.passed.Load() {
			return true, nil
		}
		parent := n.opts.root + "/" + EscapeKey("")
		node := t.node
		if exists, _, err := c.Exists(cmp.Or(node, parent)); err != nil || !exists {
			node = "" // its session has ended
		}
		if node == "" {
			path := parent + "/" + trialName
			node, err = c.Create(path, nil, zk.FlagEphemeralSequential, n.opts.acl)
			if errors.Is(err, zk.ErrNoNode) {
				if err := n.parents.create(c, parent); err != nil {
					return false, err
				}
				node, err = c.Create(path, nil, zk.FlagEphemeralSequential, n.opts.acl)
			}
			if err != nil {
				return false, denied(err, "create in", parent)
			}
		}
		t.node = node
		_, _, readErr := c.Children(parent)
		_, dataErr := c.Set(node, nil, -1)
		deleteErr := c.Delete(node, -1)
		if deleteErr == nil || errors.Is(deleteErr, zk.ErrNoNode) {
			t.node, deleteErr = "", nil
		}
		if errors.Is(dataErr, zk.ErrNoNode) {
			dataErr = nil // a session has ended meanwhile
		}
		err = errors.Join(denied(readErr, "read", parent), denied(dataErr, "write", node), denied(deleteErr, "delete in", parent))
		t.passed.Store(err == nil)
		return true, err
	})
}
