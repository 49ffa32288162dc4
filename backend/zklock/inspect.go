package zklock

import (
	"cmp"
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
// An ephemeral node of another program, at the path of a key or below it, is foreign, and so
// is a semaphore of Curator.
//
// With [WithPath] it needs [WithKeyOf]. Without that it only knows the key that is the
// prefix. If that key is free, the error wraps [errors.ErrUnsupported].
func (b *Backend) Inspect(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
	nodes, err := b.keyNodes(ctx, prefix)
	if err != nil {
		return nil, err
	}
	var found []driver.KeyInfo
	err = b.eachChildren(ctx, nodes, func(k keyNode, names []string) (more bool, err error) {
		q, err := parseQueue(names)
		if err != nil || len(q) == 0 && k.key != prefix {
			return true, err
		}
		info, err := b.inspect(ctx, k, q, names)
		if err == nil && info.Held+info.Waiting > 0 {
			found = append(found, info)
		}
		return len(found) < limit, err
	})
	if err == nil && len(found) == 0 && b.opts.path != nil && b.opts.keyOf == nil {
		err = fmt.Errorf("zklock: which keys begin with %q is not known with WithPath and without WithKeyOf: %w", prefix, errors.ErrUnsupported)
	}
	return found, err
}

// keyNode is the node of a key.
type keyNode struct{ key, path string }

// keyNodes returns the nodes of keys with the prefix, in order of the keys.
func (b *Backend) keyNodes(ctx context.Context, prefix string) ([]keyNode, error) {
	op, end := b.link.opContext(ctx)
	defer end()
	if err := b.link.confirm(op); err != nil {
		return nil, err
	}
	keyOf := b.opts.keyOf
	if b.opts.path == nil {
		keyOf = UnescapeKey
	} else if keyOf == nil {
		if prefix == "" {
			return nil, nil
		}
		if path, err := b.path(prefix); err == nil {
			return []keyNode{{prefix, path}}, nil
		}
		return nil, nil // the prefix is not a key
	}
	var found []keyNode
	for level := []keyNode{{path: b.opts.root}}; len(level) > 0; {
		var next []keyNode
		err := b.eachChildren(ctx, level, func(above keyNode, names []string) (more bool, err error) {
			for _, name := range names {
				path := above.path + "/" + name
				switch key, ok := keyOf(path[len(b.opts.root)+1:]); {
				case !ok && b.opts.path != nil:
					next = append(next, keyNode{path: path})
				case ok && key != "" && strings.HasPrefix(key, prefix):
					found = append(found, keyNode{key, path})
				}
			}
			return true, nil
		})
		if err != nil {
			return nil, err
		}
		level = next
	}
	slices.SortFunc(found, func(a, b keyNode) int { return strings.Compare(a.key, b.key) })
	return found, nil
}

// eachChildren calls f with the names of the children of each node, in order, until there
// are no more or f wants no more.
func (b *Backend) eachChildren(ctx context.Context, nodes []keyNode, f func(k keyNode, names []string) (more bool, err error)) error {
	for chunk := range slices.Chunk(nodes, maxInspections) {
		children := make([]*pending[[]string], len(chunk))
		for i, n := range chunk {
			children[i] = b.link.children(cmp.Or(n.path, "/"))
		}
		for i, n := range chunk {
			op, end := b.link.opContext(ctx)
			names, err := children[i].wait(op)
			end()
			if err != nil {
				return err
			}
			if more, err := f(n, names); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// inspect returns what is known of one key. Its node has the children names, of which q is
// the queue.
func (b *Backend) inspect(ctx context.Context, k keyNode, q queue, names []string) (driver.KeyInfo, error) {
	op, end := b.link.opContext(ctx)
	defer end()
	holders := placequeue.Holders(q)
	info := driver.KeyInfo{Key: k.key, Held: len(holders), Waiting: len(q) - len(holders)}
	if len(q) == 0 {
		return b.inspectForeign(op, k, names)
	}
	for _, n := range holders[:min(len(holders), driver.MaxHolderInfos)] {
		info.Mode, info.Semaphore = n.kind.sharing.Mode, n.kind.sharing.Permits > 0
		path := k.path + "/" + n.name
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
		if g, _, ok := b.table.grantAt(k.key, path); ok {
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

// inspectForeign returns what another program may have created at the path of a key that has
// no queue.
func (b *Backend) inspectForeign(ctx context.Context, k keyNode, names []string) (driver.KeyInfo, error) {
	info := driver.KeyInfo{Key: k.key}
	if slices.Contains(names, leasesNode) {
		info.Foreign, info.Held, info.Holders = semaphoreRecipe, 1, make([]driver.HolderInfo, 1)
		return info, nil
	}
	path := k.path
	if other, err := b.stranger(ctx, k.path, names, nil, kind{}); err != nil {
		return info, err
	} else if other != nil {
		path += "/" + other.name
	}
	node, err := b.link.content(path).wait(ctx)
	if err == nil && isEphemeral(&node.stat) {
		info.Foreign, info.Held = ephemeralNode, 1
		info.Holders = []driver.HolderInfo{{Holder: holderName(node.data), Since: time.UnixMilli(node.stat.Ctime)}}
	}
	return info, err
}

// ForceRelease implements [driver.Inspector]. It deletes the nodes of the holders, and
// ZooKeeper notifies the waiters.
func (b *Backend) ForceRelease(ctx context.Context, key string) (bool, error) {
	return b.eachHolder(ctx, key, func(ctx context.Context, path string, _ node) (bool, error) {
		return b.link.remove(path).wait(ctx)
	})
}

// eachHolder calls f with the nodes of the holders of a key, until it returns an error. It
// reports whether any of the nodes existed when f came to it.
func (b *Backend) eachHolder(ctx context.Context, key string, f func(ctx context.Context, path string, n node) (existed bool, err error)) (held bool, err error) {
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
	for _, n := range placequeue.Holders(q) {
		existed, err := f(op, parent+"/"+n.name, n)
		if err != nil {
			return held, err
		}
		held = held || existed
	}
	return held, nil
}
