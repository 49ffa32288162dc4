package zklock

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// lastLook limits the time to find the holder of the key when a wait is over: the
// caller may have no time left.
const lastLook = 100 * time.Millisecond

// held returns the holder of the key: the owner of the first node in line. It has held
// the key for the time, by the servers' clock, from the creation of that node to the
// creation of our own, plus the time that has passed here since then. Values that are
// not known are left out.
func (b *Backend) held(ctx context.Context, key string, what waiting) *driver.HeldError {
	err := &driver.HeldError{}
	if g, since, ok := b.table.find(key, what.first); ok {
		err.Holder = driver.HolderOf(g.Owner)
		err.Held, err.RetryAfter = time.Since(since), max(time.Until(g.Sent.Add(g.TTL)), 0)
		return err
	}
	his, ours := b.link.content(what.first), b.link.stat(what.own)
	node, failed := his.wait(ctx)
	if failed != nil || node.stat.Czxid == 0 {
		return err
	}
	err.Holder = holderName(node.data)
	if stat, failed := ours.wait(ctx); failed == nil && stat.Czxid != 0 {
		between := time.Duration(stat.Ctime-node.stat.Ctime) * time.Millisecond
		err.Held = max(between+time.Since(what.made), 0)
	}
	return err
}

// heldNow is held for the end of a wait. It works even if ctx has ended.
func (b *Backend) heldNow(ctx context.Context, p *place, what waiting) *driver.HeldError {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), min(lastLook, b.opts.opTimeout))
	defer end()
	names, err := b.link.children(p.parent).wait(ctx)
	if err != nil {
		return &driver.HeldError{}
	}
	if l, err := parseLine(names); err == nil && len(l) > 0 && l[0].guid != p.guid {
		what.first = p.parent + "/" + l[0].name
		return b.held(ctx, p.claim.key, what)
	}
	return &driver.HeldError{}
}

// maxHolderName bounds the name of a holder that others have written.
const maxHolderName = 64

// holderName returns the name of the holder in the data of a node, or "" if the data is
// not a name: other programs that share the line may write anything. Curator's default
// is the client's address.
func holderName(data []byte) string {
	if len(data) > maxHolderName {
		return ""
	}
	for _, c := range data {
		if c <= ' ' || c > '~' {
			return ""
		}
	}
	return string(data)
}

// ownerOf returns the owner that guidOf and the name of its holder come from, if it is
// an owner of this package.
func ownerOf(guid, name string) string {
	if name == "" {
		return guid
	}
	return guid + "@" + name
}
