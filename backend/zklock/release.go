package zklock

import (
	"context"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// sweepPause is how long what failed in the background waits before it is tried
// again.
const sweepPause = 100 * time.Millisecond

// Release deletes the owner's node, in one round trip. If there is no answer it
// returns an error and goes on in the background until the node is gone or the
// session is. It fails with [driver.ErrLost] if g is a grant, with tokens, and
// the node was gone already, or if another has the key. Of the releases of the
// past a bounded number is remembered; repeating one of these is no error.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	parent, err := b.node(g.Key)
	if err != nil {
		return err
	}
	op, end := b.bound(ctx)
	defer end()
	c := claim{g.Key, g.Owner}
	p, wasHeld := b.table.release(c)
	if p == nil {
		return b.releaseUnknown(op, parent, &g)
	}
	existed, err := b.leave(op, p)
	switch {
	case err != nil:
		return err
	case wasHeld && !existed:
		b.table.forget(c)
		return fmt.Errorf("zklock: the owner's node was deleted: %w", driver.ErrLost)
	}
	return nil
}

// releaseUnknown answers for an owner who has no place: the server tells what is
// left of it.
func (b *Backend) releaseUnknown(ctx context.Context, parent string, g *driver.Grant) error {
	l, err := b.line(ctx, parent)
	if err != nil {
		return err
	}
	guid, found := guidOf(g.Owner), false
	for _, n := range l {
		if n.guid != guid {
			continue
		}
		found = true
		if _, err := b.link.remove(parent + "/" + n.name).wait(ctx); err != nil {
			return err
		}
	}
	switch {
	case found, b.table.wasReleased(claim{g.Key, g.Owner}):
		return nil
	case len(l) > 0:
		return fmt.Errorf("zklock: another has the key: %w", driver.ErrLost)
	case g.Token != 0:
		return fmt.Errorf("zklock: the lease has ended: %w", driver.ErrLost)
	}
	return nil
}

// line returns the line below parent as the leader knows it.
func (b *Backend) line(ctx context.Context, parent string) (line, error) {
	if _, err := b.link.ready(ctx); err != nil {
		return nil, err
	}
	if _, err := b.link.sync().wait(ctx); err != nil {
		return nil, err
	}
	names, err := b.link.children(parent).wait(ctx)
	if err != nil {
		return nil, err
	}
	return parseLine(names)
}

// expire gives up a place whose lease is over.
func (b *Backend) expire(p *place) { b.clear(p) }

// leave deletes the node of a place that was given up. It returns whether there
// was one. After an error it goes on in the background.
func (b *Backend) leave(ctx context.Context, p *place) (existed bool, err error) {
	if !p.take(ctx) {
		b.clear(p)
		return false, b.link.cause(ctx)
	}
	existed, err = b.leaveOnce(ctx, p)
	p.put()
	if err != nil {
		b.clear(p)
	}
	return existed, err
}

// clear deletes the node of a place that was given up, in the background, until it
// is gone or the session is.
func (b *Backend) clear(p *place) {
	b.goOn(func() {
		if !p.take(b.ctx) {
			return
		}
		defer p.put()
		b.insist(func(ctx context.Context) error {
			_, err := b.leaveOnce(ctx, p)
			return err
		})
	})
}

// insist calls f until it succeeds or the Backend is closed.
func (b *Backend) insist(f func(ctx context.Context) error) {
	for b.ctx.Err() == nil {
		ctx, end := b.bound(b.ctx)
		err := f(ctx)
		end()
		if err == nil {
			return
		}
		t := time.NewTimer(sweepPause)
		select {
		case <-t.C:
		case <-b.ctx.Done():
			t.Stop()
		}
	}
}

// leaveOnce deletes the node of a place that was given up, or looks for it if it
// is not known. The caller has the turn.
func (b *Backend) leaveOnce(ctx context.Context, p *place) (existed bool, err error) {
	if p.node == "" && !p.doubt {
		return false, nil
	}
	s, err := b.link.ready(ctx)
	if err != nil {
		return false, err
	}
	if p.node != "" {
		if p.session == s {
			b.table.condemn(p.node)
			if existed, err = b.link.remove(p.node).wait(ctx); err != nil {
				return false, err
			}
			b.table.acquit(p.node)
		}
		p.node = ""
		return existed, nil
	}
	found, orphans, err := b.search(ctx, p, s)
	if err != nil {
		return false, err
	}
	for _, path := range append(found, orphans...) {
		if _, err := b.link.remove(path).wait(ctx); err != nil {
			return false, err
		}
	}
	p.doubt = false
	return len(found) > 0, nil
}

// sweep deletes an orphan in the background.
func (b *Backend) sweep(path string) {
	b.table.condemn(path)
	b.goOn(func() {
		b.insist(func(ctx context.Context) error {
			if _, err := b.link.ready(ctx); err != nil {
				return err
			}
			_, err := b.link.remove(path).wait(ctx)
			return err
		})
		b.table.acquit(path)
	})
}
