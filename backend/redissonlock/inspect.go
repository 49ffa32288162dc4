package redissonlock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/luascript"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

const (
	scanCount    = 1000 // keys that the server visits in one SCAN
	inspectBatch = 64   // scripts in one pipeline
)

// Inspect visits all keys of every master with SCAN, so its duration depends on the
// number of keys of any kind, unless limit is 0. The operation timeout applies to each
// request, ctx to the whole.
//
// A hash is a lock if it expires and each of its fields looks like a holder. If the
// prefix is the key itself, a value of any other kind is listed as foreign. A holder in
// Java has a name such as redisson-6f1b2c3d/thread-57/holds-2: the first digits of its
// client's id, the number of the thread, and how often it holds the lock. No waiters
// are listed.
func (b *backend) Inspect(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
	found := make(map[string]driver.KeyInfo)
	page := func(keys []string) (more bool, err error) {
		for batch := range slices.Chunk(keys, inspectBatch) {
			infos, err := b.readLocks(ctx, batch, prefix)
			if err != nil {
				return false, err
			}
			for _, info := range infos {
				if len(found) < max(limit, 1) {
					found[info.Key] = info
				}
			}
		}
		return len(found) < limit, nil
	}
	more, err := limit > 0, error(nil)
	if checkKey(prefix) == nil {
		more, err = page([]string{prefix})
	}
	if more && err == nil {
		err = b.scan(ctx, prefix, page)
	}
	return slices.SortedFunc(maps.Values(found), func(x, y driver.KeyInfo) int { return strings.Compare(x.Key, y.Key) }), err
}

// scan calls page with the hashes with the prefix on every master, until page returns
// false or an error. It may pass a name twice.
func (b *backend) scan(ctx context.Context, prefix string, page func(keys []string) (more bool, err error)) error {
	masters := []redis.UniversalClient{b.taking.Client()}
	if cluster, ok := masters[0].(*redis.ClusterClient); ok {
		var err error
		if masters, err = b.masters(ctx, cluster); err != nil {
			return err
		}
	}
	return rediskit.Scan(masters, func(master redis.UniversalClient, cursor uint64) (*redis.ScanCmd, error) {
		return call(ctx, b, func(ctx context.Context) (*redis.ScanCmd, error) {
			cmd := master.ScanType(ctx, cursor, rediskit.ScanPattern(prefix)+"*", scanCount, "hash")
			err := cmd.Err()
			return cmd, err
		})
	}, page)
}

// masters returns the masters of the Cluster.
func (b *backend) masters(ctx context.Context, cluster *redis.ClusterClient) ([]redis.UniversalClient, error) {
	return call(ctx, b, func(ctx context.Context) (masters []redis.UniversalClient, _ error) {
		var mu sync.Mutex
		err := cluster.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			masters = append(masters, master)
			return nil
		})
		return masters, err
	})
}

// readLocks returns the keys that are locks, and exactly whatever it is.
func (b *backend) readLocks(ctx context.Context, keys []string, exactly string) ([]driver.KeyInfo, error) {
	calls := make([]luascript.Call, len(keys))
	for i, key := range keys {
		k := keysOf(key)
		calls[i] = luascript.Call{Keys: []string{k.lock, k.counter}, Args: []any{driver.MaxHolderInfos, rediskit.Flag(key == exactly)}}
	}
	return call(ctx, b, func(ctx context.Context) (infos []driver.KeyInfo, _ error) {
		for i, cmd := range inspectScript.RunAll(ctx, b.taking.Client(), calls) {
			reply, err := cmd.Slice()
			if errors.Is(err, redis.Nil) {
				continue
			}
			if err != nil {
				return nil, err
			}
			info, ok := keyInfo(keys[i], reply)
			if !ok {
				return nil, fmt.Errorf("redissonlock: inspect answered with %d parts, or with parts of another kind", len(reply)) // they may contain owners
			}
			infos = append(infos, info)
		}
		return infos, nil
	})
}

// keyInfo parses a reply of inspect.lua.
func keyInfo(key string, reply []any) (driver.KeyInfo, bool) {
	n, rest := rediskit.Numbers(reply)
	if len(n) != 3 || len(rest) != 2 {
		return driver.KeyInfo{}, false
	}
	info := driver.KeyInfo{Key: key, Held: int(n[0])}
	left := time.Duration(max(n[1], 0)) * time.Millisecond
	if rest[0] == "read" {
		info.Mode = driver.Shared
	}
	if kind, ok := rest[1].(string); ok { // not a lock
		info.Foreign, info.Holders = kind, []driver.HolderInfo{{ExpiresIn: left}}
	}
	for _, f := range fieldsOf(rest[1]) {
		h := driver.HolderInfo{ExpiresIn: left}
		var ours bool
		h.Owner, h.Holder, ours = holder(f.name, f.holds)
		// A holder of this package was the last that was given a token.
		if ours && n[2] > 0 {
			h.LastToken = uint64(n[2])
			h.Token = max(h.LastToken, driver.MaxTokens) - driver.MaxTokens + 1
			h.Since = time.UnixMicro(n[2])
		}
		info.Holders = append(info.Holders, h)
	}
	return info, true
}

// ForceRelease deletes the lock, whatever holds it, and wakes waiters. A holder in Java
// is not told: its unlock throws an IllegalMonitorStateException. If what is at the key
// is not a lock, ForceRelease changes nothing, and the error wraps [driver.ErrForeign].
func (b *backend) ForceRelease(ctx context.Context, key string) (bool, error) {
	if err := checkKey(key); err != nil {
		return false, err
	}
	k := keysOf(key)
	lock, readWrite := channels(key)
	// It is not sent again: the lock may have the next holder by then.
	reply, err := call(ctx, b, func(ctx context.Context) (string, error) {
		return forceReleaseScript.Run(ctx, b.taking.Client(), []string{k.lock, k.gone}, b.publish, lock, readWrite).Text()
	})
	switch {
	case err != nil:
		return false, err
	case reply == "1":
		return true, nil
	case reply == "2":
		return false, nil
	default:
		return false, foreign(reply)
	}
}
