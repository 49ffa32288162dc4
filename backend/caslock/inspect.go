package caslock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Inspect implements driver.Inspector.
func (b *backend) Inspect(ctx context.Context, prefix string, limit int) (found []driver.KeyInfo, err error) {
	add := func(key string, r record, err error) {
		info := driver.KeyInfo{Key: key}
		if err == nil {
			err = b.describe(ctx, &info, &r)
		} else if key == prefix {
			info.Foreign, info.Held, info.Holders = "not a record of locks", 1, make([]driver.HolderInfo, 1)
			err = nil
		}
		if err == nil && info.Held+info.Waiting > 0 {
			found = append(found, info)
		}
	}
	r, err := b.load(ctx, prefix)
	if err != nil && !errors.Is(err, driver.ErrForeign) {
		return nil, err
	}
	if add(prefix, r, err); limit == 0 {
		return found, nil
	}
	l, ok := b.store.(Lister)
	if !ok {
		return found, fmt.Errorf("caslock: the store cannot list its keys: %w", errors.ErrUnsupported)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*requestTimeout) // it may be many requests
	defer cancel()
	err = l.List(ctx, prefix, func(key string, value []byte, version string) bool {
		if key != prefix && !strings.HasPrefix(key, linePrefix) && len(found) < limit {
			r, err := b.open(key, value, version)
			add(key, r, err)
		}
		return len(found) < limit
	})
	slices.SortFunc(found, func(x, y driver.KeyInfo) int { return cmp.Compare(x.Key, y.Key) })
	return found, b.fail("list", err)
}

// describe completes info.
func (b *backend) describe(ctx context.Context, info *driver.KeyInfo, r *record) error {
	slices.SortStableFunc(r.Holders, func(x, y lease) int { return cmp.Compare(x.left, y.left) })
	info.Held = len(r.Holders)
	for _, h := range r.Holders[:min(info.Held, driver.MaxHolderInfos)] {
		info.Mode, info.Semaphore = h.sharing().Mode, h.Permits > 0
		info.Holders = append(info.Holders, driver.HolderInfo{
			Owner: driver.Fingerprint(h.Owner), Holder: driver.HolderOf(h.Owner), Token: h.Token, LastToken: h.Token + h.Tokens - 1,
			Since: time.UnixMilli(h.Since), ExpiresIn: h.left,
		})
	}
	if !r.Waiting {
		return nil
	}
	line, _, err := b.line.places(ctx, info.Key, 1000)
	line = r.withoutHolders(line)
	info.Waiting = len(line)
	for _, p := range line[:min(info.Waiting, driver.MaxWaiterInfos)] {
		info.Waiters = append(info.Waiters, driver.WaiterInfo{
			Owner: driver.Fingerprint(p.Owner), Waiter: driver.HolderOf(p.Owner), Mode: p.sharing().Mode, Permits: p.Permits,
			Since: time.UnixMilli(p.Since),
		})
	}
	return err
}

// ForceRelease implements driver.Inspector.
func (b *backend) ForceRelease(ctx context.Context, key string) (held bool, err error) {
	r, _, err := b.update(ctx, key, func(r *record) (bool, error) {
		held = len(r.Holders) > 0
		for _, h := range r.Holders {
			h.extend(h.left, r.Count)
			r.Taken = append(r.Taken, h)
		}
		r.Holders = nil
		return held, nil
	})
	if err != nil {
		return false, err
	}
	b.pass(ctx, key, "", &r)
	for _, h := range r.Taken {
		b.send(h.Reply, &message{Key: key, Owner: h.Owner})
	}
	return held, nil
}
