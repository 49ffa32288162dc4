package main

import (
	"context"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// goZooKeeper is the name of the peer in F14.
const goZooKeeper = "go-zookeeper"

// sessionTimeout is the default of zklock.
const sessionTimeout = 20 * time.Second

// newGoZooKeeper uses the lock of github.com/go-zookeeper/zk, which follows the recipe
// of ZooKeeper's documentation: each caller creates a sequential node and watches the
// node before it. All callers share one connection, as the library intends.
//
// The library's Lock has no context: a process in which it waits for too long is killed.
func newGoZooKeeper(t task) (lockFunc, error) {
	c, _, err := zk.Connect([]string{strings.TrimPrefix(t.URL, "zk://")}, sessionTimeout, zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, key string) (unlockFunc, error) {
		// A lock has one holder at a time, so each caller creates its own.
		l := zk.NewLock(c, "/"+key, zk.WorldACL(zk.PermAll))
		return func(context.Context) error { return l.Unlock() }, l.Lock()
	}, nil
}
