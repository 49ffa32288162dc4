package rediskit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/driver"
)

// Finder returns a function that returns the client of a key's server. The first call
// of that function may have to ask a server. It is nil if there is one server, or if
// the client does not tell.
func Finder(client redis.UniversalClient) func(ctx context.Context, key string) (*redis.Client, error) {
	switch c := client.(type) {
	case *redis.ClusterClient:
		return c.MasterForKey
	case *redis.Ring:
		return func(_ context.Context, key string) (*redis.Client, error) { return c.GetShardClientForKey(key) }
	default:
		return nil
	}
}

// Masters returns a client for each server that keeps keys of its own. The first call
// asks the Cluster.
func Masters(ctx context.Context, client redis.UniversalClient) (masters []redis.UniversalClient, err error) {
	var mu sync.Mutex
	add := func(_ context.Context, master *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		masters = append(masters, master)
		return nil
	}
	switch c := client.(type) {
	case *redis.ClusterClient:
		err = c.ForEachMaster(ctx, add)
	case *redis.Ring:
		err = c.ForEachShard(ctx, add)
	default:
		masters = append(masters, client)
	}
	return masters, err
}

// MaxRenewals is how many leases are renewed together: a script stops the server while it runs.
const MaxRenewals = 256

// Renew renews grants: on all servers of s at once, in batches of up to MaxRenewals, one after
// the other until one has no answer. renew returns the results of a batch, or an error if none of
// it was answered.
func Renew(ctx context.Context, s *Server, grants []driver.Grant, report func(int, error), renew func(server *redis.Client, batch []int) ([]error, error)) {
	valid := make([]int, 0, len(grants))
	for i, g := range grants {
		if g.TTL < time.Millisecond { // a PEXPIRE of zero would delete the lock
			report(i, fmt.Errorf("%s: a TTL of %v is less than a millisecond", s.pkg, g.TTL))
			continue
		}
		valid = append(valid, i)
	}
	var all sync.WaitGroup
	for server, group := range byServer(ctx, s, grants, valid) {
		all.Go(func() {
			var failed error
			for batch := range slices.Chunk(group, MaxRenewals) {
				results, err := []error(nil), failed
				if err == nil {
					results, err = renew(server, batch)
				}
				if err != nil && failed == nil {
					failed = fmt.Errorf("%s: not sent, because the batch before it failed: %w", s.pkg, err)
					Reload(s.client)
				}
				for n, i := range batch {
					if err == nil {
						report(i, results[n])
					} else {
						report(i, err)
					}
				}
			}
		})
	}
	all.Wait()
}

// groups are the indexes of grants, by their server. It is nil if it is not known.
type groups = map[*redis.Client][]int

// byServer splits the grants with the given indexes by their server, as far as it is known, so
// that a server that does not answer delays no grants of another. The result may be wrong: a
// pipeline follows redirections.
func byServer(ctx context.Context, s *Server, grants []driver.Grant, indexes []int) groups {
	find := Finder(s.client)
	if find == nil {
		return groups{nil: indexes}
	}
	all, err := Operate(ctx, s, s.client, func(ctx context.Context, _ redis.UniversalClient) (groups, error) {
		of := make(groups)
		for _, i := range indexes {
			server, err := find(ctx, grants[i].Key)
			if err != nil {
				return nil, err
			}
			of[server] = append(of[server], i)
		}
		return of, nil
	})
	if err != nil {
		return groups{nil: indexes}
	}
	return all
}

// Redirected reports whether a Cluster refused a script for the moment: the slot is moving, and
// its keys are on two servers; or the slot has moved, and two servers name each other; or the
// slot has no master. Nothing was done. go-redis does not repeat a script then.
func Redirected(err error) bool {
	return slices.ContainsFunc([]string{"TRYAGAIN", "MOVED", "ASK", "CLUSTERDOWN"}, func(prefix string) bool {
		return redis.HasErrorPrefix(err, prefix)
	})
}
