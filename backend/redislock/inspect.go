package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/luascript"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

var _ driver.Inspector = (*backend)(nil)

// Inspect visits all keys of every master with SCAN, so its duration depends on the
// number of keys of any kind, unless limit is 0. It runs a script for each key with the
// prefix. The operation timeout applies to each request, ctx to the whole.
//
// A string is listed as a lock if it expires and is an owner with a token, or a UUID.
// Any other string that expires, such as a lock of another library, is listed if a
// waiter waits for it, or if the prefix is the key itself. If the prefix is the key
// itself, a value of any other kind is listed as foreign.
//
// The tokens of readers and of holders of permits are not known, nor are the tokens of locks
// that were taken with plain commands.
func (b *backend) Inspect(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
	exactly, err := b.inspectExactly(ctx, prefix)
	if err != nil {
		return nil, err
	}
	all := rediskit.Inspection{
		Limit: limit, Match: pattern(prefix),
		Masters: func() ([]redis.UniversalClient, error) {
			return call(ctx, b.calls, rediskit.Masters)
		},
		Scan: func(send func(context.Context) (*redis.ScanCmd, error)) (*redis.ScanCmd, error) {
			return call(ctx, b.calls, func(ctx context.Context, _ redis.UniversalClient) (*redis.ScanCmd, error) { return send(ctx) })
		},
		Read: func(names []string) ([]driver.KeyInfo, error) {
			return b.readLocks(ctx, b.candidates(names, prefix), false)
		},
	}
	return all.List(exactly)
}

// inspectExactly returns the value at the key, of any type.
func (b *backend) inspectExactly(ctx context.Context, key string) ([]driver.KeyInfo, error) {
	if err := b.checkKey(key); err != nil {
		return nil, nil //nolint:nilerr // a key that cannot be a lock is not among the locks
	}
	infos, err := b.readLocks(ctx, []string{key}, true)
	if err != nil {
		return nil, err
	}
	info := driver.KeyInfo{Key: key}
	if len(infos) > 0 {
		info = infos[0]
	}
	if info.Held == 0 {
		v, err := b.valueAt(ctx, key)
		if err != nil {
			return nil, err
		}
		switch {
		case v.kind == "none", v.kind == "string" && v.left > 0: // it was removed or set between the two requests
		default:
			info.Foreign = cmp.Or(v.kind, "unknown")
			info.Held, info.Holders = 1, []driver.HolderInfo{{ExpiresIn: v.left}}
		}
	}
	if info.Held == 0 && info.Waiting == 0 {
		return nil, nil
	}
	return []driver.KeyInfo{info}, nil
}

// pattern returns a pattern for SCAN that matches the keys with the prefix and the
// queues of these keys. It also matches other keys.
func pattern(prefix string) string {
	if prefix == "" {
		return "*"
	}
	return "*" + rediskit.ScanPattern(prefix) + "*"
}

// candidates returns the keys with the prefix that may be locks. The names belong to
// locks, to their queues, or to anything else. In a Cluster, another key with braces
// could be in another slot than the queue of that name.
func (b *backend) candidates(names []string, prefix string) []string {
	var keys []string
	for _, name := range names {
		if key, ok := rediskit.KeyOf(name, queueSuffix); ok && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
		if strings.HasPrefix(name, prefix) && b.checkKey(name) == nil {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// readLocks runs inspect.lua for the keys and returns the locks. With exact
// it also returns strings that other libraries may have set.
func (b *backend) readLocks(ctx context.Context, keys []string, exact bool) ([]driver.KeyInfo, error) {
	calls := make([]luascript.Call, len(keys))
	for i, key := range keys {
		names := lockKeys(key)
		calls[i] = luascript.Call{Keys: names[:], Args: []any{driver.MaxHolderInfos, driver.MaxWaiterInfos, rediskit.Flag(exact)}}
	}
	return call(ctx, b.calls, func(ctx context.Context, c redis.UniversalClient) (infos []driver.KeyInfo, _ error) {
		for i, cmd := range inspectScript.RunAll(ctx, c, calls) {
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

// malformed returns the error for a reply of inspect.lua. It does not show the reply,
// which may contain owners.
func malformed(reply []any) error {
	return fmt.Errorf("redislock: inspect answered with %d parts, or with parts of another kind", len(reply))
}

// keyInfo parses a reply of inspect.lua.
func keyInfo(key string, reply []any) (driver.KeyInfo, error) {
	n, rest := rediskit.Numbers(reply)
	if len(n) != 2 || len(rest) != 3 {
		return driver.KeyInfo{}, malformed(reply)
	}
	info := driver.KeyInfo{Key: key, Held: int(n[0]), Waiting: int(n[1]), Semaphore: rest[0] == "p"}
	if rest[0] == "r" {
		info.Mode = driver.Shared
	}
	holders, _ := rest[1].([]any)
	for holder := range slices.Chunk(holders, 3) {
		info.Holders = append(info.Holders, holderInfo(holder))
	}
	waiters, _ := rest[2].([]any)
	for waiter := range slices.Chunk(waiters, 2) {
		if w, ok := waiterInfo(waiter); ok {
			info.Waiters = append(info.Waiters, w)
		}
	}
	return info, nil
}

// waiterInfo parses an entry of the queue and its ticket: the server's time in
// microseconds when the waiter came, unless the clock was set back. Of an entry of
// another form it returns false: the queue drops it.
func waiterInfo(parts []any) (w driver.WaiterInfo, ok bool) {
	entry, _ := parts[0].(string)
	ticket, _ := parts[1].(string)
	_, waiter, _ := strings.Cut(entry, ":")
	owner, share, _ := strings.Cut(waiter, " ")
	permits, isPermit := strings.CutPrefix(share, "p")
	switch n, err := strconv.Atoi(permits); {
	case owner == "":
		return w, false
	case share == "r":
		w.Mode = driver.Shared
	case isPermit && err == nil:
		w.Permits = n
	case share != "":
		return w, false
	}
	w.Owner, w.Waiter = driver.Fingerprint(owner), driver.HolderOf(owner)
	if at, err := strconv.ParseFloat(ticket, 64); err == nil {
		w.Since = time.UnixMicro(int64(at))
	}
	return w, true
}

// holderInfo parses an owner, the milliseconds until its lease ends, and its token. A
// token is about the server's time in microseconds. So it says since when the owner has
// the lock, unless the clock was set back.
func holderInfo(parts []any) (h driver.HolderInfo) {
	owner, _ := parts[0].(string)
	left, _ := parts[1].(string)
	token, _ := parts[2].(string)
	ms, _ := strconv.ParseInt(left, 10, 64)
	h.Owner, h.Holder = driver.Fingerprint(owner), driver.HolderOf(owner)
	h.ExpiresIn = max(time.Duration(ms)*time.Millisecond, 0)
	number, smaller := strings.CutPrefix(token, "~")
	if at, err := strconv.ParseUint(number, 10, 53); err == nil {
		h.Since = time.UnixMicro(int64(at))
		if !smaller {
			h.Token, h.LastToken = max(at, driver.MaxTokens)-driver.MaxTokens+1, at
		}
	}
	return h
}
