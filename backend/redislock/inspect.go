package redislock

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

var _ driver.Inspector = (*Backend)(nil)

var (
	//go:embed ours.lua
	oursSource string
	//go:embed inspect.lua
	inspectSource string

	inspectScript = redis.NewScript(oursSource + inspectSource)
)

const (
	scanCount    = 1000 // keys that the server looks at for one answer
	inspectBatch = 64   // keys that are asked about in one pipeline
)

// Inspect walks through the keys of every master with SCAN, which takes as long as
// there are keys of any kind in Redis, and asks about those with the prefix. Each
// answer is bounded by the operation timeout, the whole by ctx.
//
// A string counts as a lock if its fence has it as the last holder, or if it is a UUID
// that expires, like the owners of Lockers: the fence of a lock that is held for more
// than a quarter of an hour may be gone. A lock of another kit whose values look
// different is listed while a waiter here waits for it, if it expires, and if
// the prefix is the key itself; then anything else at the key is, too, as foreign. Of
// sharers, the token of the latest is known, and of no other. A lock that was held
// before the fence went has no token to show either.
func (b *Backend) Inspect(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
	found := make(map[string]driver.KeyInfo)
	if err := b.inspectExactly(ctx, prefix, found); err != nil {
		return nil, err
	}
	err := b.scan(ctx, pattern(prefix), func(names []string) (bool, error) {
		keys := candidates(names, prefix)
		for batch := range slices.Chunk(keys, inspectBatch) {
			infos, err := call(ctx, b.calls, func(ctx context.Context, c redis.UniversalClient) ([]driver.KeyInfo, error) {
				return readLocks(ctx, c, batch, false)
			})
			if err != nil {
				return false, err
			}
			for _, info := range infos {
				if _, known := found[info.Key]; !known && len(found) < limit {
					found[info.Key] = info
				}
			}
			if len(found) >= limit {
				return false, nil
			}
		}
		return true, nil
	})
	sorted := make([]driver.KeyInfo, 0, len(found))
	for _, key := range slices.Sorted(maps.Keys(found)) {
		sorted = append(sorted, found[key])
	}
	return sorted, err
}

// inspectExactly finds the value at the key, whatever its type.
func (b *Backend) inspectExactly(ctx context.Context, key string, found map[string]driver.KeyInfo) error {
	if key == "" || strings.ContainsAny(key, "{}") { // the key of no lock
		return nil
	}
	infos, err := call(ctx, b.calls, func(ctx context.Context, c redis.UniversalClient) ([]driver.KeyInfo, error) {
		return readLocks(ctx, c, []string{key}, true)
	})
	if err != nil {
		return err
	}
	info := driver.KeyInfo{Key: key}
	if len(infos) > 0 {
		info = infos[0]
	}
	if info.Held == 0 {
		v, err := b.valueAt(ctx, key)
		if err != nil {
			return err
		}
		switch {
		case v.kind == "none", v.kind == "string" && v.left > 0: // it was removed, or set, between the two requests
		default:
			info.Foreign = cmp.Or(v.kind, "unknown")
			info.Held, info.Holders = 1, []driver.HolderInfo{{ExpiresIn: v.left}}
		}
	}
	if info.Held > 0 || info.Waiting > 0 {
		found[key] = info
	}
	return nil
}

// scan calls page with the names that match on every master, until it returns
// false or an error. A name may come twice.
func (b *Backend) scan(ctx context.Context, match string, page func(names []string) (more bool, err error)) error {
	masters, err := b.nodes.masters(ctx, b.calls)
	if err != nil {
		return err
	}
	type part struct {
		names  []string
		cursor uint64
	}
	for _, master := range masters {
		for p := (part{}); ; {
			from := p.cursor
			p, err = call(ctx, b.calls, func(ctx context.Context, _ redis.UniversalClient) (part, error) {
				names, next, err := master.Scan(ctx, from, match, scanCount).Result()
				return part{names, next}, err
			})
			if err != nil {
				return err
			}
			if more, err := page(p.names); err != nil || !more {
				return err
			}
			if p.cursor == 0 {
				break
			}
		}
	}
	return nil
}

// pattern matches the keys with the prefix, the queues of these, and others.
func pattern(prefix string) string {
	if prefix == "" {
		return "*"
	}
	return "*" + strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(prefix) + "*"
}

// candidates returns the keys with the prefix that may be locks, to judge by the
// names of what is in Redis: themselves, or their queues.
func candidates(names []string, prefix string) []string {
	keys := make(map[string]struct{}, len(names))
	for _, name := range names {
		if inner, ok := strings.CutPrefix(name, "{"); ok {
			if key, ok := strings.CutSuffix(inner, "}:queue"); ok && strings.HasPrefix(key, prefix) {
				keys[key] = struct{}{}
			}
			if strings.HasSuffix(inner, "}:queue") || strings.HasSuffix(inner, "}:fence") {
				continue
			}
		}
		if strings.HasPrefix(name, prefix) {
			keys[name] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// readLocks asks about some keys, and returns what is to be said of those that are
// locks, with exact also of other kits.
func readLocks(ctx context.Context, c redis.UniversalClient, keys []string, exact bool) ([]driver.KeyInfo, error) {
	cmds := make([]*redis.Cmd, len(keys))
	send := func(which []int, eval func(redis.Scripter, context.Context, []string, ...any) *redis.Cmd) {
		pipe := c.Pipeline()
		for _, i := range which {
			names := lockKeys(keys[i])
			cmds[i] = eval(pipe, ctx, names[:], driver.MaxHolderInfos, flag(exact))
		}
		rediskit.Exec(ctx, pipe)
	}
	all := make([]int, len(keys))
	for i := range all {
		all[i] = i
	}
	send(all, func(s redis.Scripter, ctx context.Context, keys []string, args ...any) *redis.Cmd {
		return inspectScript.EvalSha(ctx, s, keys, args...)
	})
	unknown := slices.DeleteFunc(all, func(i int) bool { return !redis.HasErrorPrefix(cmds[i].Err(), "NOSCRIPT") })
	if len(unknown) > 0 {
		send(unknown, func(s redis.Scripter, ctx context.Context, keys []string, args ...any) *redis.Cmd {
			return inspectScript.Eval(ctx, s, keys, args...)
		})
	}
	var infos []driver.KeyInfo
	for i, cmd := range cmds {
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
}

// keyInfo reads what inspect.lua said of one lock.
func keyInfo(key string, reply []any) (driver.KeyInfo, error) {
	info := driver.KeyInfo{Key: key}
	if len(reply) == 5 {
		kind, ok1 := reply[0].(string)
		held, ok2 := reply[1].(int64)
		waiting, ok3 := reply[2].(int64)
		fence, ok4 := reply[3].(string)
		holders, ok5 := reply[4].([]any)
		if ok1 && ok2 && ok3 && ok4 && ok5 {
			info.Held, info.Waiting = int(held), int(waiting)
			info.Semaphore = kind == "p"
			if kind == "r" {
				info.Mode = driver.Shared
			}
			f := readFence(fence)
			for pair := range slices.Chunk(holders, 2) {
				h, err := f.holderInfo(pair)
				if err != nil {
					return info, err
				}
				info.Holders = append(info.Holders, h)
			}
			return info, nil
		}
	}
	return info, fmt.Errorf("redislock: inspect answered %d parts, or of another kind", len(reply))
}

// minted is what a fence says of the last holder.
type minted struct {
	holder      string
	first, last uint64
}

// readFence reads a fence. Of one that it cannot read it knows nothing.
func readFence(text string) minted {
	fields := strings.Fields(text)
	if len(fields) < 4 {
		return minted{}
	}
	first, err := strconv.ParseUint(fields[0], 10, 64)
	last, err2 := strconv.ParseUint(fields[1], 10, 64)
	if err != nil || err2 != nil {
		return minted{}
	}
	return minted{holder: fields[2], first: first, last: last}
}

// holderInfo reads an owner and the milliseconds that are left to it. Tokens are
// microseconds of the server's time, and a block of them ends at the moment in
// which it is minted, so the last tells when that was: unless more than a token a
// microsecond was asked for, or the server's clock was set back.
func (f minted) holderInfo(pair []any) (h driver.HolderInfo, err error) {
	if len(pair) != 2 {
		return h, errors.New("redislock: inspect answered with half a holder")
	}
	owner, ok1 := pair[0].(string)
	left, ok2 := pair[1].(string)
	ms, err := strconv.ParseInt(left, 10, 64)
	if !ok1 || !ok2 || err != nil {
		return h, errors.New("redislock: inspect answered with a holder that is none")
	}
	h.Owner, h.Holder = driver.Fingerprint(owner), driver.HolderOf(owner)
	h.ExpiresIn = max(time.Duration(ms)*time.Millisecond, 0)
	if owner == f.holder {
		h.Token, h.Since = f.first, time.UnixMicro(int64(f.last))
	}
	return h, nil
}
