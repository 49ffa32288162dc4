package zklock

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// maxInspections is how many queues one call of Inspect reads at the same time.
const maxInspections = 64

// Inspect implements [driver.Inspector]. It reads the names of all keys, and the queue
// of each key with the prefix: the names of all nodes, because ZooKeeper has no request
// for the first names, and the content of the listed ones. It does not know when the
// leases of other processes end. For a lock of another process that was extended it
// shows the first token of the first grant. An ephemeral node of another program, at
// the path of a key or below it, is foreign, and so is a semaphore of Curator.
func (b *backend) Inspect(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
	keys, err := b.keys(ctx, prefix, limit == 0)
	if err != nil {
		return nil, err
	}
	var found []driver.KeyInfo
	for chunk := range slices.Chunk(keys, maxInspections) {
		children := make([]*pending[[]string], len(chunk))
		for i, key := range chunk {
			children[i] = b.link.children(b.path(key))
		}
		for i, key := range chunk {
			info, err := b.inspect(ctx, key, children[i], key == prefix)
			if err != nil {
				return found, err
			}
			if info.Held+info.Waiting > 0 {
				found = append(found, info)
			}
			if len(found) == limit {
				return found, nil
			}
		}
	}
	return found, nil
}

// keys returns the keys with the prefix that have a node, in order, or exactly the
// prefix.
func (b *backend) keys(ctx context.Context, prefix string, exactly bool) (keys []string, err error) {
	op, end := b.link.opContext(ctx)
	defer end()
	if err := b.link.confirm(op); err != nil {
		return nil, err
	}
	if exactly {
		return []string{prefix}, nil
	}
	names, err := b.link.children(cmp.Or(b.config.Root, "/")).wait(op)
	for _, name := range names {
		if key, ok := UnescapeKey(name); ok && key != "" && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, err
}

// inspect returns what is known of one key. What another program has created there is
// only looked for in an exact search.
func (b *backend) inspect(ctx context.Context, key string, children *pending[[]string], exact bool) (driver.KeyInfo, error) {
	op, end := b.link.opContext(ctx)
	defer end()
	info := driver.KeyInfo{Key: key}
	names, err := children.wait(op)
	if err != nil {
		return info, err
	}
	q, err := parseQueue(names)
	if err != nil {
		return info, err
	}
	if len(q) == 0 && exact {
		return b.inspectForeign(op, key, names)
	}
	holders, waiters := placequeue.Split(q)
	info.Held, info.Waiting = len(holders), len(waiters)
	holders, waiters = holders[:min(len(holders), driver.MaxHolderInfos)], waiters[:min(len(waiters), driver.MaxWaiterInfos)]
	listed := slices.Concat(holders, waiters)
	read := make([]*pending[content], 0, len(listed))
	for _, n := range listed {
		read = append(read, b.link.content(b.path(key)+"/"+n.name))
	}
	for i, n := range listed {
		node, err := read[i].wait(op)
		if err != nil {
			return info, err
		}
		end, kept := node.keptUntil(n.name)
		waits, gone := i >= len(holders), node.stat.Czxid == 0 || kept && time.Until(end) <= 0 // deleted since the queue was read, or over
		name, sharing := holderName(node.data), n.kind.sharing
		owner, since := driver.Fingerprint(ownerOf(n.guid, name)), time.UnixMilli(node.stat.Ctime)
		switch {
		case gone && waits:
			info.Waiting--
			continue
		case gone:
			info.Held--
			continue
		case waits:
			info.Waiters = append(info.Waiters, driver.WaiterInfo{
				Owner: owner, Waiter: name, Mode: sharing.Mode, Permits: sharing.Permits, Since: since,
			})
			continue
		}
		info.Mode, info.Semaphore = sharing.Mode, sharing.Permits > 0
		h := driver.HolderInfo{Owner: owner, Holder: name, Since: since}
		h.Token, h.LastToken = placequeue.Tokens(node.stat.Czxid, tokensPerID, driver.MaxTokens)
		if kept {
			h.ExpiresIn = time.Until(end)
		}
		if l, ok := b.table.HeldAt(b.path(key) + "/" + n.name); ok {
			h.Owner, h.Token, h.LastToken = driver.Fingerprint(l.Grant.Owner), l.Grant.Token, l.Grant.LastToken
			h.ExpiresIn = time.Until(placequeue.End(l.Grant))
		}
		info.Holders = append(info.Holders, h)
	}
	slices.SortStableFunc(info.Holders, func(x, y driver.HolderInfo) int { return cmp.Compare(x.ExpiresIn, y.ExpiresIn) })
	return info, nil
}

// inspectForeign returns what another program may have created at the path of a key
// that has no queue.
func (b *backend) inspectForeign(ctx context.Context, key string, names []string) (driver.KeyInfo, error) {
	info := driver.KeyInfo{Key: key}
	path := b.path(key)
	other, err := b.stranger(ctx, path, names, nil, kind{})
	if err != nil {
		return info, err
	}
	if other != nil {
		path, info.Foreign = path+"/"+other.name, other.what
	}
	node, err := b.link.content(path).wait(ctx)
	if other == nil && isEphemeral(&node.stat) {
		info.Foreign = ephemeralNode
	}
	if info.Foreign != "" {
		info.Held = 1
		info.Holders = []driver.HolderInfo{{Holder: holderName(node.data), Since: time.UnixMilli(node.stat.Ctime)}}
	}
	return info, err
}

// ForceRelease implements [driver.Inspector]. It deletes the nodes of the holders, and
// ZooKeeper notifies the waiters.
func (b *backend) ForceRelease(ctx context.Context, key string) (bool, error) {
	return b.eachHolder(ctx, key, func(ctx context.Context, path string, _ node) (bool, error) {
		return b.link.remove(path).wait(ctx)
	})
}

// eachHolder calls f with the nodes of the holders of a key, until it returns an error.
// It reports whether any of the nodes existed when f came to it.
func (b *backend) eachHolder(ctx context.Context, key string, f func(ctx context.Context, path string, n node) (existed bool, err error)) (held bool, err error) {
	parent := b.path(key)
	op, end := b.link.opContext(ctx)
	defer end()
	q, err := b.queue(op, parent)
	if err != nil {
		return false, err
	}
	holders, _ := placequeue.Split(q)
	return placequeue.Each(holders, func(n node) (bool, error) { return f(op, parent+"/"+n.name, n) })
}
