package main

import (
	"context"
	"errors"
)

// store is where the locks of a scenario are.
type store string

const (
	inRedis     store = "" // the server that -redis names
	inZooKeeper store = "ZooKeeper"
)

// otherStores are those that are not Redis. A server of each is started if a scenario
// needs one. It waits for the disk before it answers that a change is done: that is the
// default of ZooKeeper.
var otherStores = []struct {
	store store
	start func(context.Context) (url string, stop func(), err error)
}{
	{inZooKeeper, startZooKeeper},
}

// errMissing means that a server is not installed.
var errMissing = errors.New("it needs")
