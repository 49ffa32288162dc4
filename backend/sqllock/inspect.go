package sqllock

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/distlock-go/distlock/driver"
)

const (
	firstCharacter = "!"          // sorts before all others that a key may have
	lastCharacter  = "\U0010FFFF" // none sorts after it
)

// Inspect implements [driver.Inspector]. Of a long queue it reads the first places, and
// how many there are.
func (b *Backend) Inspect(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
	if err := b.ready(ctx); err != nil {
		return nil, err
	}
	var found []driver.KeyInfo
	end := strings.Repeat(lastCharacter, maxName/len(lastCharacter)+1) // no key has room for as many
	if limit == 0 {
		end, limit = firstCharacter, 1
	}
	for after := ""; ; {
		page, err := b.find(ctx, forAttempt, b.sql.list, values{"from": after, "prefix": prefix, "to": prefix + end})
		if err != nil {
			return found, err
		}
		for i := range page {
			if len(found) >= limit {
				return found, nil
			}
			k := &page[i]
			if info := k.info(); strings.HasPrefix(k.key, prefix) && info.Held+info.Waiting > 0 {
				found = append(found, info)
			}
		}
		if len(page) < listPage {
			return found, nil
		}
		after = page[len(page)-1].key
	}
}

// info describes the key, which is of a list.
func (e *entry) info() driver.KeyInfo {
	if e.expires <= e.now {
		e.owner = ""
	}
	info := driver.KeyInfo{Key: e.key, Held: e.sharers, Waiting: e.waiters}
	if e.owner != "" {
		info.Held++
	}
	holders := e.holders()
	slices.SortStableFunc(holders, func(a, b member) int { return cmp.Compare(a.expires, b.expires) })
	for _, h := range holders[:min(len(holders), driver.MaxHolderInfos)] {
		info.Mode, info.Semaphore = h.sharing.Mode, h.sharing.Permits > 0
		one := driver.HolderInfo{
			Owner: driver.Fingerprint(h.owner), Holder: driver.HolderOf(h.owner),
			Since: time.UnixMicro(h.since), ExpiresIn: micros(h.expires - e.now),
		}
		one.LastToken = uint64(h.token)
		one.Token = max(one.LastToken, driver.MaxTokens) - driver.MaxTokens + 1
		info.Holders = append(info.Holders, one)
	}
	for _, m := range e.members {
		if m.waits() {
			info.Waiters = append(info.Waiters, driver.WaiterInfo{
				Owner: driver.Fingerprint(m.owner), Waiter: driver.HolderOf(m.owner),
				Mode: m.sharing.Mode, Permits: m.sharing.Permits, Since: time.UnixMicro(m.since),
			})
		}
	}
	return info
}

// ForceRelease implements [driver.Inspector]. It fails while a transaction that was
// guarded with the holder's lease has not ended.
func (b *Backend) ForceRelease(ctx context.Context, key string) (held bool, err error) {
	if err := checkNames(key, "-"); err != nil {
		return false, err
	}
	if err := b.ready(ctx); err != nil {
		return false, err
	}
	guarded := false
	err = b.change(ctx, forRelease, key, false, func(*entry) bool { return true }, func(e *entry) {
		if guarded = e.frozen; !guarded {
			held = e.force()
		}
	})
	if err == nil && guarded {
		err = b.failure(errGuarded)
	}
	return held, err
}
