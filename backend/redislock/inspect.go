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
	//go:embed ownership.lua
	ownershipSource string
	//go:embed inspect.lua
	inspectSource string

	inspectScript = redis.NewScript(ownershipSource + inspectSource)
)

const (
	scanCount    = 1000 // keys that the server visits in one SCAN
	inspectBatch = 64   // scripts in one pipeline
)

// Inspect visits all keys of every master with SCAN, so its duration depends on the number
// of keys of any kind. It runs a script for each key with the prefix. The operation timeout
// applies to each request, ctx to the whole.
//
// A string is listed as a lock if it is the holder in its fence, or if it expires and is a
// UUID, like the owners of a Locker; the fence of a lock that is held for more than a
// quarter of an hour may have expired. Any other string that expires, such as a lock of
// another library, is listed if a waiter waits for it, or if the prefix is the key itself.
// If the prefix is the key itself, a value of any other kind is listed as foreign.
//
// The token of a shared lock is known only for the holder that got it last. The token of a
// lock whose fence has expired is not known.
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

// inspectExactly adds the value at the key, of any type, to found.
func (b *Backend) inspectExactly(ctx context.Context, key string, found map[string]driver.KeyInfo) error {
	if key == "" || strings.ContainsAny(key, "{}") { // such a key cannot be a lock
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
		case v.kind == "none", v.kind == "string" && v.left > 0: // it was removed or set between the two requests
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

// scan calls page with the matching names on every master, until page returns false or an
// error. It may pass a name twice.
func (b *Backend) scan(ctx context.Context, match string, page func(names []string) (more bool, err error)) error {
	masters, err := b.topology.masters(ctx, b.calls)
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

// pattern returns a pattern for SCAN that matches the keys with the prefix and the queues
// of these keys. It also matches other keys.
func pattern(prefix string) string {
	if prefix == "" {
		return "*"
	}
	return "*" + strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(prefix) + "*"
}

// candidates returns the keys with the prefix that may be locks. The names are those of
// locks or of their queues.
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

// readLocks runs inspect.lua for the keys and returns those that are locks. With exact it
// also returns strings that other libraries may have set.
func readLocks(ctx context.Context, c redis.UniversalClient, keys []string, exact bool) ([]driver.KeyInfo, error) {
	cmds := make([]*redis.Cmd, len(keys))
	send := func(which []int, eval func(redis.Scripter, context.Context, []string, ...any) *redis.Cmd) {
		pipe := c.Pipeline()
		for _, i := range which {
			names := lockKeys(keys[i])
			cmds[i] = eval(pipe, ctx, names[:], driver.MaxHolderInfos, rediskit.Flag(exact))
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

// keyInfo parses a reply of inspect.lua.
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
			f := parseFence(fence)
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
	return info, fmt.Errorf("redislock: inspect answered with %d parts, or with parts of another kind", len(reply))
}

// fenceTokens is what a fence says about the last holder.
type fenceTokens struct {
	holder      string
	first, last uint64
}

// parseFence parses a fence. It returns a zero value if the fence cannot be parsed.
func parseFence(text string) fenceTokens {
	fields := strings.Fields(text)
	if len(fields) < 4 {
		return fenceTokens{}
	}
	first, err := strconv.ParseUint(fields[0], 10, 64)
	last, err2 := strconv.ParseUint(fields[1], 10, 64)
	if err != nil || err2 != nil {
		return fenceTokens{}
	}
	return fenceTokens{holder: fields[2], first: first, last: last}
}

// holderInfo parses an owner and the milliseconds until its lease ends. Tokens are
// microseconds of the server's time, and the last token of a range is the time at which it
// was issued. So it says since when the owner has the lock, unless the server's clock was
// set back or tokens were issued faster than one per microsecond.
func (f fenceTokens) holderInfo(pair []any) (h driver.HolderInfo, err error) {
	if len(pair) != 2 {
		return h, errors.New("redislock: inspect answered with half a holder")
	}
	owner, ok1 := pair[0].(string)
	left, ok2 := pair[1].(string)
	ms, err := strconv.ParseInt(left, 10, 64)
	if !ok1 || !ok2 || err != nil {
		return h, errors.New("redislock: inspect answered with a malformed holder")
	}
	h.Owner, h.Holder = driver.Fingerprint(owner), driver.HolderOf(owner)
	h.ExpiresIn = max(time.Duration(ms)*time.Millisecond, 0)
	if owner == f.holder {
		h.Token, h.Since = f.first, time.UnixMicro(int64(f.last))
	}
	return h, nil
}
