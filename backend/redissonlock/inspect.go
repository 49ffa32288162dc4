package redissonlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
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

// Inspect visits all keys of every master with SCAN, so its duration depends on the number of
// keys of any kind. It runs a script for each hash with the prefix. The operation timeout
// applies to each request, ctx to the whole.
//
// A hash is a lock if it expires and each of its fields looks like a holder. If the prefix is
// the key itself, a value of any other kind is listed as foreign. A holder in Java has a name
// such as redisson-6f1b2c3d/thread-57/holds-2: the first digits of its client's id, the number
// of the thread, and how often it holds the lock. Redisson does not store the waiters.
func (b *Backend) Inspect(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
	found := make(map[string]driver.KeyInfo)
	if err := b.inspectExactly(ctx, prefix, found); err != nil {
		return nil, err
	}
	err := b.scan(ctx, prefix, func(keys []string) error {
		for batch := range slices.Chunk(keys, inspectBatch) {
			infos, err := b.readLocks(ctx, batch)
			if err != nil {
				return err
			}
			for _, info := range infos {
				if _, known := found[info.Key]; !known && len(found) < limit {
					found[info.Key] = info
				}
			}
			if len(found) >= limit {
				return errEnough
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	sorted := make([]driver.KeyInfo, 0, len(found))
	for _, key := range slices.Sorted(maps.Keys(found)) {
		sorted = append(sorted, found[key])
	}
	return sorted, err
}

// errEnough ends a scan.
var errEnough = errors.New("enough keys were found")

// inspectExactly adds what is at the key, of any type, to found.
func (b *Backend) inspectExactly(ctx context.Context, key string, found map[string]driver.KeyInfo) error {
	if key == "" || checkKey(key) != nil {
		return nil //nolint:nilerr // such a key cannot be a lock
	}
	infos, err := b.readLocks(ctx, []string{key})
	if err != nil {
		return err
	}
	if len(infos) > 0 {
		found[key] = infos[0]
		return nil
	}
	info, err := call(ctx, b, func(ctx context.Context) (driver.KeyInfo, error) {
		pipe := b.client.Pipeline()
		kind, left := pipe.Type(ctx, key), pipe.PTTL(ctx, key)
		rediskit.Exec(ctx, pipe)
		if left.Err() != nil || left.Val() == -2 { // it does not exist
			return driver.KeyInfo{}, left.Err()
		}
		holder := driver.HolderInfo{ExpiresIn: max(left.Val(), 0)}
		return driver.KeyInfo{Key: key, Foreign: cmp.Or(kind.Val(), "unknown"), Held: 1, Holders: []driver.HolderInfo{holder}}, nil
	})
	if err == nil && info.Held > 0 {
		found[key] = info
	}
	return err
}

// scan calls page with the hashes with the prefix on every master, until page returns an error.
// It may pass a name twice.
func (b *Backend) scan(ctx context.Context, prefix string, page func(keys []string) error) error {
	masters, err := b.masters(ctx)
	if err != nil {
		return err
	}
	return rediskit.Scan(masters, func(master redis.UniversalClient, cursor uint64) (*redis.ScanCmd, error) {
		return call(ctx, b, func(ctx context.Context) (*redis.ScanCmd, error) {
			cmd := master.ScanType(ctx, cursor, rediskit.ScanPattern(prefix)+"*", scanCount, "hash")
			err := cmd.Err()
			return cmd, err
		})
	}, func(keys []string) (bool, error) { return true, page(keys) })
}

// masters returns the servers that keep keys.
func (b *Backend) masters(ctx context.Context) ([]redis.UniversalClient, error) {
	if b.cluster == nil {
		return []redis.UniversalClient{b.client}, nil
	}
	return call(ctx, b, func(ctx context.Context) (masters []redis.UniversalClient, _ error) {
		var mu sync.Mutex
		err := b.cluster.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			masters = append(masters, master)
			return nil
		})
		return masters, err
	})
}

// readLocks returns the keys that are locks.
func (b *Backend) readLocks(ctx context.Context, keys []string) ([]driver.KeyInfo, error) {
	calls := make([]luascript.Call, len(keys))
	for i, key := range keys {
		k := keysOf(key)
		calls[i] = luascript.Call{Keys: []string{k.lock, k.counter}, Args: []any{driver.MaxHolderInfos}}
	}
	return call(ctx, b, func(ctx context.Context) (infos []driver.KeyInfo, _ error) {
		for i, cmd := range inspectScript.RunAll(ctx, b.client, calls) {
			reply, err := cmd.Slice()
			if errors.Is(err, redis.Nil) {
				continue
			}
			if err != nil {
				return nil, err
			}
			info, err := keyInfo(keys[i], reply)
			if err != nil {
				return nil, err
			}
			infos = append(infos, info)
		}
		return infos, nil
	})
}

// keyInfo parses a reply of inspect.lua.
func keyInfo(key string, reply []any) (driver.KeyInfo, error) {
	info := driver.KeyInfo{Key: key}
	if len(reply) == 5 {
		left, ok1 := reply[1].(int64)
		held, ok2 := reply[3].(int64)
		if ok1 && ok2 {
			if reply[0] == "read" {
				info.Mode = driver.Shared
			}
			info.Held = int(held)
			for _, f := range fieldsOf(reply[4]) {
				h := driver.HolderInfo{ExpiresIn: time.Duration(left) * time.Millisecond}
				var ours bool
				h.Owner, h.Holder, ours = holder(f.name, f.holds)
				// A holder of this package was the last that was given a token.
				if token, err := strconv.ParseUint(fmt.Sprint(reply[2]), 10, 53); ours && err == nil {
					h.Token, h.Since = token, time.UnixMicro(int64(token))
				}
				info.Holders = append(info.Holders, h)
			}
			return info, nil
		}
	}
	return info, fmt.Errorf("redissonlock: inspect answered %q", reply)
}

// ForceRelease deletes the lock, whatever holds it, and wakes waiters. A holder in Java is not
// told: its unlock throws an IllegalMonitorStateException. If what is at the key is not a lock,
// ForceRelease changes nothing, and the error wraps [driver.ErrForeign].
func (b *Backend) ForceRelease(ctx context.Context, key string) (bool, error) {
	if key == "" {
		return false, errors.New("redissonlock: the key is empty")
	}
	if err := checkKey(key); err != nil {
		return false, err
	}
	k := keysOf(key)
	lock, readWrite := channels(key)
	// It is not sent again: the lock may have the next holder by then.
	reply, err := call(ctx, b, func(ctx context.Context) (string, error) {
		return forceReleaseScript.Run(ctx, b.client, []string{k.lock, k.gone}, b.publish, lock, readWrite).Text()
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
