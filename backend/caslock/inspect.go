package caslock

import (
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
	add := func(key string, r record) error {
		info, err := b.describe(ctx, key, &r)
		if info.Held+info.Waiting > 0 {
			found = append(found, info)
		}
		return err
	}
	var r record
	if prefix != "" { // the empty text is no key
		r, err = b.load(ctx, prefix)
	}
	if errors.Is(err, driver.ErrForeign) {
		found, err = []driver.KeyInfo{{Key: prefix, Foreign: "not a record of locks", Held: 1, Holders: make([]driver.HolderInfo, 1)}}, nil
	} else if err == nil {
		err = add(prefix, r)
	}
	l, ok := b.store.(Lister)
	switch {
	case err != nil || limit == 0:
		return found, err
	case !ok:
		return found, fmt.Errorf("caslock: the store cannot list its keys: %w", errors.ErrUnsupported)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*requestTimeout) // it may be many requests
	defer cancel()
	var lineErr error
	err = l.List(ctx, prefix, func(key string, value []byte, version string) bool {
		if key != prefix && strings.HasPrefix(key, prefix) && !strings.HasPrefix(key, linePrefix) && len(found) < limit {
			if r, err := b.read(key, value, version); err == nil { // the store has other objects, too
				lineErr = add(key, r)
			}
		}
		return lineErr == nil && len(found) < limit
	})
	return found, errors.Join(lineErr, b.fail("list", err))
}

// describe returns what is known of a key: without its line if that cannot be read.
func (b *backend) describe(ctx context.Context, key string, r *record) (info driver.KeyInfo, err error) {
	slices.SortStableFunc(r.Holders, sooner)
	info.Key, info.Held = key, len(r.Holders)
	for _, h := range r.Holders[:min(info.Held, driver.MaxHolderInfos)] {
		info.Mode, info.Semaphore = h.sharing().Mode, h.Permits > 0
		info.Holders = append(info.Holders, driver.HolderInfo{
			Owner: driver.Fingerprint(h.Owner), Holder: driver.HolderOf(h.Owner), Token: h.Token, LastToken: h.Token + h.Tokens - 1,
			Since: time.UnixMilli(h.Since), ExpiresIn: h.left,
		})
	}
	var line []lease
	if r.Waiting {
		line, _, err = b.waiting(ctx, key, "", r, 1000)
	}
	info.Waiting = len(line)
	for _, p := range line[:min(info.Waiting, driver.MaxWaiterInfos)] {
		info.Waiters = append(info.Waiters, driver.WaiterInfo{
			Owner: driver.Fingerprint(p.Owner), Waiter: driver.HolderOf(p.Owner), Mode: p.sharing().Mode, Permits: p.Permits,
			Since: time.UnixMilli(p.Since),
		})
	}
	return info, err
}

// ForceRelease implements driver.Inspector.
func (b *backend) ForceRelease(ctx context.Context, key string) (held bool, err error) {
	r, _, err := b.update(ctx, key, func(r *record) (bool, error) {
		held = len(r.Holders) > 0
		r.Taken, r.Holders = append(r.Taken, r.Holders...), nil
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
