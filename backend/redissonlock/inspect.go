package redissonlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/luascript"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
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
func (b *backend) Inspect(ctx context.Context, prefix string, limit int) (infos []driver.KeyInfo, err error) {
	if checkKey(prefix) == nil {
		if infos, err = b.readLocks(ctx, []string{prefix}, prefix); err != nil {
			return nil, err
		}
	}
	all := rediskit.Inspection{
		Limit: limit, Match: rediskit.ScanPattern(prefix) + "*", Type: "hash", Server: b.server, Client: b.taking.Client(),
		Read: func(names []string) ([]driver.KeyInfo, error) { return b.readLocks(ctx, names, prefix) },
	}
	return all.List(ctx, infos)
}

// readLocks returns the keys that are locks, and exactly whatever it is.
func (b *backend) readLocks(ctx context.Context, keys []string, exactly string) ([]driver.KeyInfo, error) {
	calls := make([]luascript.Call, len(keys))
	for i, key := range keys {
		k := keysOf(key)
		calls[i] = luascript.Call{Keys: []string{k.lock, k.counter}, Args: []any{driver.MaxHolderInfos, rediskit.Flag(key == exactly)}}
	}
	return call(ctx, b, func(ctx context.Context, c redis.UniversalClient) (infos []driver.KeyInfo, _ error) {
		for i, cmd := range inspectScript.RunAll(ctx, c, calls) {
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
	reply, err := call(ctx, b, func(ctx context.Context, c redis.UniversalClient) (string, error) {
		return forceReleaseScript.Run(ctx, c, []string{k.lock, k.gone}, b.publish, lock, readWrite).Text()
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

// Ping releases a key that is not held, with the script and over the connections of a
// release: that fails if the server does not answer this user or takes no writes. In a
// Cluster it first asks all masters whether they answer. A user that may not access the
// key distlock:ping is not refused for that. Ping takes at most twice the operation
// timeout. If several servers fail, it returns one of the errors.
func (b *backend) Ping(ctx context.Context) error {
	if b.cluster != nil {
		_, err := call(ctx, b, func(ctx context.Context, _ redis.UniversalClient) (struct{}, error) {
			return struct{}{}, b.cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
				return master.Ping(ctx).Err()
			})
		})
		if err != nil && !redis.HasErrorPrefix(err, "NOPERM") { // it answers
			return err
		}
	}
	b.checkEviction()
	k := keysOf("distlock:ping")
	lock, readWrite := channels(k.lock)
	_, err := b.run(ctx, b.own.Client(), releaseScript, []string{k.lock, k.gone}, uuid.NewString(), rediskit.Flag(false), b.publish, lock, readWrite)
	if redis.HasErrorPrefix(err, "NOPERM") && strings.Contains(err.Error(), "access") { // the key, not a command
		return nil
	}
	return err
}
