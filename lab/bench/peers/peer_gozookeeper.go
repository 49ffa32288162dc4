package main

import (
	"context"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// goZooKeeper is the name of the peer in F14.
const goZooKeeper = "go-zookeeper"

// goZooKeeperPeer is the lock of github.com/go-zookeeper/zk, which follows the recipe
// of ZooKeeper's documentation: each caller creates a sequential node and watches the
// node before it. All callers share one connection, as the library intends.
type goZooKeeperPeer struct{ conn *zk.Conn }

// sessionTimeout is the default of zklock.
const sessionTimeout = 20 * time.Second

func newGoZooKeeper(url string) (Peer, error) {
	c, _, err := zk.Connect([]string{strings.TrimPrefix(url, "zk://")}, sessionTimeout, zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	return &goZooKeeperPeer{conn: c}, nil
}

// Lock implements Peer. The library's Lock has no context and may wait without limit,
// so it runs in a goroutine. The cost of that is negligible beside the round trips.
func (p *goZooKeeperPeer) Lock(ctx context.Context, key string) (func(context.Context) error, error) {
	// A lock has one holder at a time, so each caller creates its own.
	l := zk.NewLock(p.conn, "/"+key, zk.WorldACL(zk.PermAll))
	locked := make(chan error, 1)
	go func() { locked <- l.Lock() }()
	select {
	case err := <-locked:
		if err != nil {
			return nil, err
		}
		return func(context.Context) error { return l.Unlock() }, nil
	case <-ctx.Done():
		go func() { // otherwise the waiters after it wait until the connection is closed
			if <-locked == nil {
				_ = l.Unlock()
			}
		}()
		return nil, ctx.Err()
	}
}

func (p *goZooKeeperPeer) Close() error {
	p.conn.Close()
	return nil
}
