package caslock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Renew implements driver.Backend. If nothing was answered during the time of one operation,
// it sends no more: thousands of renewals do not wait for a silent store in turn.
func (b *backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, error)) {
	var all sync.WaitGroup
	var known atomic.Int64 // results
	var silent atomic.Bool
	turn := make(chan struct{}, parallel)
	for i := range grants {
		turn <- struct{}{}
		if silent.Load() {
			report(i, driver.NotSent(b.fail("renew", errSilent)))
			<-turn
			continue
		}
		all.Go(func() {
			defer func() { <-turn }()
			before, start := known.Load(), time.Now()
			err := b.renew(ctx, &grants[i])
			if errors.Is(err, driver.ErrForeign) {
				err = fmt.Errorf("%w: %w", driver.ErrLost, err)
			}
			if err == nil || errors.Is(err, driver.ErrLost) {
				known.Add(1)
			} else if time.Since(start) >= requestTimeout && known.Load() == before {
				silent.Store(true)
			}
			report(i, err)
		})
	}
	all.Wait()
}

var errSilent = errors.New("the store has not answered the renewals before it")

func (b *backend) renew(ctx context.Context, g *driver.Grant) error {
	if err := b.tooLong(g.TTL); err != nil {
		return err
	}
	revoked := false
	_, err := b.update(ctx, g.Key, g.Owner, true, func(r *record) (bool, error) {
		i := find(r.Holders, g.Owner)
		if i < 0 {
			return false, driver.ErrLost
		}
		h := &r.Holders[i]
		h.extend(g.TTL, r.Count)
		if g.Retain {
			h.TTL = millis(g.TTL)
		}
		revoked = h.Revoked
		return true, nil
	})
	if revoked {
		b.revoke(g.Owner)
	}
	return err
}

// Extend implements driver.Extender.
func (b *backend) Extend(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
	w, err := b.update(ctx, g.Key, g.Owner, true, func(r *record) (bool, error) {
		i := find(r.Holders, g.Owner)
		if i < 0 {
			return false, driver.ErrLost
		}
		if r.Waiting {
			if !r.fresh {
				return false, nil
			}
			line, _, err := b.line.places(ctx, g.Key, glance)
			if err != nil {
				return false, err
			}
			if len(without(line, g.Owner)) > 0 {
				return false, driver.ErrNotAcquired
			}
		}
		r.Holders[i].extend(g.TTL, r.Count)
		r.Holders[i].issue(r, tokens)
		return true, nil
	})
	if err != nil {
		return driver.Grant{}, err
	}
	h := &w.Holders[find(w.Holders, g.Owner)]
	g.Sent, g.Token, g.LastToken, g.Until = w.sent, h.Token, h.Token+h.Tokens-1, time.Time{}
	return g, nil
}
