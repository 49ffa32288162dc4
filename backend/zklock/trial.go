package zklock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

// trialName begins the names of the nodes of trials. They are below the node of the
// empty key, which is the key of no lock.
const trialName = "trial-"

// trial does once what a lock does. So a user that lacks a permission is refused before
// it has a lock that it cannot give back.
type trial struct {
	passed atomic.Bool

	mu   sync.Mutex
	node string // path of a node that could not be deleted
}

// run makes a trial, unless one was successful before.
func (t *trial) run(ctx context.Context, l *link) error {
	if t.passed.Load() {
		return nil
	}
	_, err := begin(l, func(c *zk.Conn) (_ struct{}, err error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.passed.Load() {
			return struct{}{}, nil
		}
		parent := l.config.Root + "/" + EscapeKey("")
		if t.node == "" {
			if t.node, err = l.createIn(c, parent, trialName, nil); err != nil {
				return struct{}{}, err
			}
		}
		node := t.node
		_, _, readErr := c.Children(parent)
		_, dataErr := c.Set(node, nil, -1)
		deleteErr := c.Delete(node, -1)
		if deleteErr == nil || errors.Is(deleteErr, zk.ErrNoNode) {
			t.node = ""
		}
		// If there is no such node, the session has ended. The next trial has another
		// node.
		err = errors.Join(denied(readErr, "read", parent), denied(dataErr, "write", node), denied(deleteErr, "delete in", parent))
		t.passed.Store(err == nil)
		return struct{}{}, err
	}).wait(ctx)
	return err
}
