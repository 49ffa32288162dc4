package caslock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
)

const (
	parallel = 32                           // renewals at the same time
	silence  = requestTimeout + time.Second // after which a store answers no more of them
)

var errSilent = errors.New("the store has not answered the renewals before it")

// Renew implements driver.Backend. If the store answers none for the time of silence, it sends
// no more: thousands of renewals do not wait for a silent store in turn.
func (b *backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, error)) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	silent := time.AfterFunc(silence, func() { stop(errSilent) })
	defer silent.Stop()
	var all sync.WaitGroup
	turn := make(chan struct{}, parallel)
	for i := range grants {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			err := b.renew(ctx, &grants[i])
			if errors.Is(err, driver.ErrForeign) {
				err = fmt.Errorf("%w: %w", driver.ErrLost, err)
			}
			if err == nil || errors.Is(err, driver.ErrLost) {
				silent.Reset(silence)
			}
			report(i, err)
		})
	}
	all.Wait()
}

func (b *backend) renew(ctx context.Context, g *driver.Grant) error {
	if err := b.tooLong(g.TTL); err != nil {
		return err
	}
	revoked := false
	_, sent, err := b.update(ctx, g.Key, func(r *record) (bool, error) {
		h := find(r.Holders, g.Owner)
		if h == nil {
			return false, driver.ErrLost
		}
		h.extend(g.TTL, r.Count)
		if g.Retain {
			h.TTL = millis(g.TTL)
		}
		revoked = h.Revoked
		return true, nil
	})
	if revoked {
		b.lookAtHeld(g.Owner)
	}
	if sent.IsZero() && errors.Is(context.Cause(ctx), errSilent) {
		return driver.NotSent(b.fail("renew", errSilent))
	}
	return err
}

// Extend implements driver.Extender.
func (b *backend) Extend(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
	r, sent, err := b.update(ctx, g.Key, func(r *record) (bool, error) {
		h := find(r.Holders, g.Owner)
		if h == nil {
			return false, driver.ErrLost
		}
		if r.Waiting { // there may be waiters: the next holder reads the line
			return false, driver.ErrNotAcquired
		}
		h.extend(g.TTL, r.Count)
		h.issue(r, tokens)
		return true, nil
	})
	if err != nil {
		return driver.Grant{}, err
	}
	g.Until = time.Time{}
	return find(r.Holders, g.Owner).grant(g, sent), nil
}

// Release implements driver.Backend.
func (b *backend) Release(ctx context.Context, g driver.Grant) error {
	w := b.waiter(g.Owner)
	if w.placed {
		if err := b.leave(ctx, g.Key, g.Owner); err != nil {
			return err
		}
	}
	r, _, err := b.update(ctx, g.Key, func(r *record) (bool, error) {
		if find(r.Holders, g.Owner) != nil {
			r.Holders = without(r.Holders, g.Owner)
			return true, nil
		}
		// A request that may still arrive has a condition on this version. A lease that has ended
		// is in the value still, and blocks processes that see it for the first time.
		doubt := !w.placed || w.unsure
		if find(r.Taken, g.Owner) != nil || len(r.Holders) > 0 && !w.placed {
			return doubt, fmt.Errorf("another owner has or had the key: %w", driver.ErrLost)
		}
		return doubt, nil
	})
	if err != nil {
		return err
	}
	b.locked(func() { delete(b.all, g.Owner) })
	if leaving, ok := b.leaving.Load(g.Owner); ok { // the place goes before a waiter is woken
		<-leaving.(chan struct{})
		if len(r.Holders) > 0 {
			// The others may have gone meanwhile, and have told an owner that has gone, too.
			if r, err = b.load(ctx, g.Key); err != nil {
				return nil //nolint:nilerr // the key is released, and waiters look by themselves
			}
		}
	}
	b.pass(ctx, g.Key, g.Owner, &r)
	return nil
}

// pass tells the waiters whose turn it is, and the next one, that the key may be free. A waiter
// that it cannot tell finds out by itself.
func (b *backend) pass(ctx context.Context, key, from string, r *record) {
	if !r.Waiting || len(r.Holders) > 0 && r.Holders[0].sharing() == (driver.Sharing{}) {
		return
	}
	var line []lease
	var places int
	stays := false
	for n := 2; n <= glance && places >= len(line); n *= 8 { // one writer is all, as a rule
		found, all, err := b.waiting(ctx, key, from, r, n)
		if err != nil {
			return
		}
		line = without(found, from)
		stays = len(line) < len(found)
		if places, _ = r.turn(line, driver.Sharing{}); all {
			break
		}
	}
	m := message{Key: key, Version: r.version, Record: encode(r)}
	for i, p := range line[:min(places+1, len(line))] {
		m.Owner, m.Ahead = p.Owner, max(0, i+1-places)
		b.send(p.Reply, &m)
	}
	if stays { // another process took the key for it, or it could not leave
		_ = b.leave(ctx, key, from)
	}
}
