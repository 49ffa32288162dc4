package zklock

import (
	"context"
	"time"

	"github.com/distlock-go/distlock"
)

// lastLook is how long it may take to find out who has the key when a wait is over:
// the caller's time may be.
const lastLook = 100 * time.Millisecond

// held says who has the key: the owner of the first node in line. How long it has
// had it is the time, by the servers' clock, from when that node was made to when our
// own was, and what has passed here since then. What is not known is left out.
func (b *Backend) held(ctx context.Context, key string, what waiting) *distlock.HeldError {
	err := &distlock.HeldError{}
	if g, since, ok := b.table.find(key, what.first); ok {
		err.Holder = distlock.HolderOf(g.Owner)
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

// heldNow is held when a wait is over, also if ctx has ended.
func (b *Backend) heldNow(ctx context.Context, p *place, what waiting) *distlock.HeldError {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), min(lastLook, b.opts.opTimeout))
	defer end()
	names, err := b.link.children(p.parent).wait(ctx)
	if err != nil {
		return &distlock.HeldError{}
	}
	if l, err := parseLine(names); err == nil && len(l) > 0 && l[0].guid != p.guid {
		what.first = p.parent + "/" + l[0].name
		return b.held(ctx, p.claim.key, what)
	}
	return &distlock.HeldError{}
}

// maxHolderName bounds the name of a holder that others have written.
const maxHolderName = 64

// holderName is the name of the holder that the data of a node gives, or "" if it is
// no name: programs that share the line write what they like. Curator's default is
// the client's address.
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

// ownerOf is the owner that guidOf and the name of its holder come from, if it is one
// of ours.
func ownerOf(guid, name string) string {
	if name == "" {
		return guid
	}
	return guid + "@" + name
}
