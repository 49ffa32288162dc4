package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// maxInspections is how many queues one call of Inspect reads at the same time.
const maxInspections = 64

// Inspect implements [driver.Inspector]. It reads the names of all keys, and the queue of
// each key with the prefix. It does not know when the leases of other processes end. For a
// lock of another process that was extended it shows the first token of the first grant.
// An ephemeral node of another program at the path of a key is foreign, because it cannot
// contain locks. With [WithPath] the error wraps [errors.ErrUnsupported].
func (b *Backend) Inspect(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
	if b.opts.path != nil {
		return nil, fmt.Errorf("zklock: the keys of nodes are not known with WithPath: %w", errors.ErrUnsupported)
	}
	keys, err := b.keys(ctx, prefix)
	if err != nil {
		return nil, err
	}
	var found []driver.KeyInfo
	for len(keys) > 0 && len(found) < limit {
		n := min(len(keys), maxInspections)
		children := make([]*pending[[]string], n)
		for i, key := range keys[:n] {
			children[i] = b.link.children(b.opts.root + "/" + EscapeKey(key))
		}
		for i, key := range keys[:n] {
			op, end := b.link.opContext(ctx)
			names, err := children[i].wait(op)
			end()
			if err != nil {
				return found, err
			}
			q, err := parseQueue(names)
			if err != nil {
				return found, err
			}
			if len(q) == 0 && key != prefix || len(found) == limit {
				continue
			}
			info, err := b.inspect(ctx, key, q)
			if err != nil {
				return found, err
			}
			if info.Held+info.Waiting > 0 {
				found = append(found, info)
			}
		}
		keys = keys[n:]
	}
	return found, nil
}

// keys returns the keys with the prefix that have a node, in order.
func (b *Backend) keys(ctx context.Context, prefix string) ([]string, error) {
	op, end := b.link.opContext(ctx)
	defer end()
	if err := b.link.confirm(op); err != nil {
		return nil, err
	}
	root := b.opts.root
	if root == "" {
		root = "/"
	}
	names, err := b.link.children(root).wait(op)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, name := range names {
		if key, ok := UnescapeKey(name); ok && key != "" && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// inspect returns what is known of one key.
func (b *Backend) inspect(ctx context.Context, key string, q queue) (driver.KeyInfo, error) {
	op, end := b.link.opContext(ctx)
	defer end()
	holders := placequeue.Holders(q)
	info := driver.KeyInfo{Key: key, Held: len(holders), Waiting: len(q) - len(holders)}
	if len(q) == 0 {
		return b.inspectForeign(op, info)
	}
	for _, n := range holders[:min(len(holders), driver.MaxHolderInfos)] {
		info.Mode, info.Semaphore = n.kind.sharing.Mode, n.kind.sharing.Permits > 0
		path := b.opts.root + "/" + EscapeKey(key) + "/" + n.name
		node, err := b.link.content(path).wait(op)
		if err != nil {
			return info, err
		}
		if node.stat.Czxid == 0 { // deleted since the queue was read
			info.Held--
			continue
		}
		name := holderName(node.data)
		h := driver.HolderInfo{
			Owner: driver.Fingerprint(ownerOf(n.guid, name)), Holder: name, Since: time.UnixMilli(node.stat.Ctime),
		}
		if h.Token, _, err = tokens(node.stat.Czxid, 1); err != nil {
			return info, err
		}
		if g, _, ok := b.table.grantAt(key, path); ok {
			h.Owner, h.Token = driver.Fingerprint(g.Owner), g.Token
			h.ExpiresIn = time.Until(g.Sent.Add(g.TTL))
		}
		info.Holders = append(info.Holders, h)
	}
	slices.SortStableFunc(info.Holders, func(x, y driver.HolderInfo) int {
		switch {
		case x.ExpiresIn > 0 && y.ExpiresIn > 0:
			return int(x.ExpiresIn - y.ExpiresIn)
		case x.ExpiresIn > 0:
			return -1
		case y.ExpiresIn > 0:
			return 1
		}
		return 0
	})
	return info, nil
}

// inspectForeign adds to info what another program may have created at the path of the
// key.
func (b *Backend) inspectForeign(ctx context.Context, info driver.KeyInfo) (driver.KeyInfo, error) {
	node, err := b.link.content(b.opts.root + "/" + EscapeKey(info.Key)).wait(ctx)
	if err == nil && node.stat.EphemeralOwner != 0 {
		info.Foreign, info.Held = ephemeralNode, 1
		info.Holders = []driver.HolderInfo{{Holder: holderName(node.data), Since: time.UnixMilli(node.stat.Ctime)}}
	}
	return info, err
}

// ForceRelease implements [driver.Inspector]. It deletes the nodes of the holders, and
// ZooKeeper notifies the waiters.
func (b *Backend) ForceRelease(ctx context.Context, key string) (bool, error) {
	parent, err := b.path(key)
	if err != nil {
		return false, err
	}
	op, end := b.link.opContext(ctx)
	defer end()
	q, err := b.queue(op, parent)
	if err != nil {
		return false, err
	}
	held := false
	for _, n := range placequeue.Holders(q) {
		existed, err := b.link.remove(parent + "/" + n.name).wait(op)
		if err != nil {
			return held, err
		}
		held = held || existed
	}
	return held, nil
}
