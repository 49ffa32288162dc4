package redislock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

var _ driver.Pinger = (*backend)(nil)

// Ping takes a key of its own on every server that keeps keys, and gives it back: on
// the single server, the master that Sentinel names, all masters of a Cluster that have
// slots, or all shards of a Ring that are up. It takes the key for itself alone and
// then as a reader, with the scripts and over the connections of a lock. So it fails
// where a lock would: on a replica, if the memory is full, if the user may not call a
// command, or if the replicas of [Config].WaitReplicas do not confirm. It does not
// notice that the user may not access the keys of the locks. It takes at most four
// times the operation timeout, and once more for a Cluster that has to name its
// masters. If several servers fail, it returns one of the errors.
func (b *backend) Ping(ctx context.Context) error {
	keys, err := b.pingKeys(ctx)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return b.calls.server.Explain(errors.New("no server is known that has keys"))
	}
	b.checkEviction()
	errs := make([]error, len(keys))
	var all sync.WaitGroup
	for i, key := range keys {
		all.Go(func() { errs[i] = b.pingWith(ctx, key) })
	}
	all.Wait()
	for _, e := range errs {
		if err == nil || rediskit.Answered(err) && !rediskit.Answered(e) { // a dead server is the reason of CLUSTERDOWN
			err = e
		}
	}
	return err
}

func (b *backend) pingKeys(ctx context.Context) (keys []string, err error) {
	find := rediskit.Finder(b.topology.client)
	if find == nil {
		return []string{b.cfg.Clock + ":{ping}:"}, nil
	}
	masters, err := call(ctx, b.calls, func(ctx context.Context, _ redis.UniversalClient) ([]redis.UniversalClient, error) {
		return rediskit.Masters(ctx, b.topology.client)
	})
	missing := make(map[redis.UniversalClient]bool, len(masters))
	for _, master := range masters {
		missing[master] = true
	}
	for _, tag := range slotTags() {
		if len(missing) == 0 || err != nil {
			break
		}
		key := b.cfg.Clock + ":" + tag + ":" // the ACL rules for clocks permit it, and no lock can have it
		if master, e := find(ctx, key); e == nil && missing[master] {
			delete(missing, master)
			keys = append(keys, key)
		}
	}
	return keys, err
}

// pingWith takes a key that begins with prefix, and gives it back.
func (b *backend) pingWith(ctx context.Context, prefix string) error {
	owner := uuid.NewString()
	key := prefix + owner
	r := request{key: key, keys: &[3]string{key, key + queueSuffix, key + goneSuffix}, owner: owner}
	for _, r.share = range []string{share(driver.Exclusive, 0), share(driver.Shared, 0)} {
		take, giveBack := r, r
		take.script, take.mode, take.ttl, take.once = acquireScript, modeTry, b.cfg.OpTimeout.Milliseconds(), true
		giveBack.script, giveBack.inDoubt = releaseScript, rediskit.Flag(false)
		a := b.dispatcher.do(ctx, &take)
		if a.Err != nil {
			return a.Err
		}
		if n := b.replicas.n; a.Value.confirmed < n {
			return b.replicas.unconfirmed(a.Value.confirmed)
		}
		if a = b.dispatcher.do(ctx, &giveBack); a.Err != nil {
			return a.Err
		}
	}
	return b.checkServer(ctx, time.Now().Add(b.cfg.OpTimeout))
}
