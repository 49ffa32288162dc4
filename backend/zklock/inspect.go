package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// inspections is how many keys one Inspect looks at at once.
const inspections = 64

// Inspect implements [driver.Inspector]. It reads the names of all keys there
// are, and the line of each that has the prefix. Of the holders of other processes
// it does not know when their leases end, and of those who prolonged theirs it
// shows the first tokens. An ephemeral node of another program is foreign, because it
// cannot contain locks. With [WithPath] the error wraps [errors.ErrUnsupported].
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
		n := min(len(keys), inspections)
		looks := make([]*pending[[]string], n)
		for i, key := range keys[:n] {
			looks[i] = b.link.children(b.opts.root + "/" + EscapeKey(key))
		}
		for i, key := range keys[:n] {
			names, err := b.within(ctx, looks[i])
			if err != nil {
				return found, err
			}
			l, err := parseLine(names)
			if err != nil {
				return found, err
			}
			if len(l) == 0 && key != prefix || len(found) == limit {
				continue
			}
			info, err := b.inspect(ctx, key, l)
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

// within waits for names for as long as an operation may take.
func (b *Backend) within(ctx context.Context, p *pending[[]string]) ([]string, error) {
	op, end := b.bound(ctx)
	defer end()
	return p.wait(op)
}

// keys returns the keys with the prefix that have a node, in order.
func (b *Backend) keys(ctx context.Context, prefix string) ([]string, error) {
	op, end := b.bound(ctx)
	defer end()
	if _, err := b.link.ready(op); err != nil {
		return nil, err
	}
	if _, err := b.link.sync().wait(op); err != nil {
		return nil, err
	}
	names, err := b.link.children(rootPath(b.opts.root)).wait(op)
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

// rootPath is the path of a root that is "" at the top.
func rootPath(root string) string {
	if root == "" {
		return "/"
	}
	return root
}

// inspect tells what is known of one key.
func (b *Backend) inspect(ctx context.Context, key string, l line) (driver.KeyInfo, error) {
	op, end := b.bound(ctx)
	defer end()
	info := driver.KeyInfo{Key: key, Held: l.holders()}
	info.Waiting = len(l) - info.Held
	if len(l) == 0 {
		return b.inspectNode(op, info)
	}
	for _, n := range l[:min(info.Held, driver.MaxHolderInfos)] {
		info.Semaphore = n.kind.permits > 0
		if n.kind.shared {
			info.Mode = driver.Shared
		}
		path := b.opts.root + "/" + EscapeKey(key) + "/" + n.name
		node, err := b.link.content(path).wait(op)
		if err != nil {
			return info, err
		}
		if node.stat.Czxid == 0 { // it has gone since
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
		if g, _, ok := b.table.find(key, path); ok {
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

// inspectNode returns what another program may have created as the node of a key.
func (b *Backend) inspectNode(ctx context.Context, info driver.KeyInfo) (driver.KeyInfo, error) {
	node, err := b.link.content(b.opts.root + "/" + EscapeKey(info.Key)).wait(ctx)
	if err == nil && node.stat.EphemeralOwner != 0 {
		info.Foreign, info.Held = ephemeralNode, 1
		info.Holders = []driver.HolderInfo{{Holder: holderName(node.data), Since: time.UnixMilli(node.stat.Ctime)}}
	}
	return info, err
}

// ForceRelease implements [driver.Inspector]. It deletes the nodes of those who
// have the key, and ZooKeeper tells who waits.
func (b *Backend) ForceRelease(ctx context.Context, key string) (bool, error) {
	parent, err := b.node(key)
	if err != nil {
		return false, err
	}
	op, end := b.bound(ctx)
	defer end()
	l, err := b.line(op, parent)
	if err != nil {
		return false, err
	}
	held := false
	for _, n := range l[:l.holders()] {
		existed, err := b.link.remove(parent + "/" + n.name).wait(op)
		if err != nil {
			return held, err
		}
		held = held || existed
	}
	return held, nil
}
