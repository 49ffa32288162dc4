package main

import (
	"context"
	"strings"
)

// store is where the locks of a scenario are.
type store string

const (
	inRedis      store = "" // the server that -redis names
	inZooKeeper  store = "ZooKeeper"
	inPostgreSQL store = "PostgreSQL"
	inEtcd       store = "etcd"
)

// The schemes of the URLs of the other stores.
const (
	zooKeeperScheme  = "zk://"
	postgreSQLScheme = "postgres://"
	etcdScheme       = "etcd://"
)

// otherStores are those that are not Redis. A server of each is started if a scenario
// needs one. Before it answers that a change is done, it waits until the change is on
// disk: that is the default of all three.
var otherStores = []struct {
	store   store
	start   func(context.Context) (url string, stop func(), err error)
	version func(ctx context.Context, url string) string
}{
	{inZooKeeper, startZooKeeper, func(_ context.Context, url string) string {
		return zooKeeperVersion(strings.TrimPrefix(url, zooKeeperScheme))
	}},
	{inPostgreSQL, startPostgreSQL, postgreSQLVersion},
	{inEtcd, startEtcd, etcdVersion},
}
