package sqllock

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// listPage is how many keys Inspect reads at once.
const listPage = 200

// listed is a key with its name.
type listed struct {
	key string
	entry
}

// Inspect implements [driver.Inspector].
func (b *Backend) Inspect(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
	if err := b.ready(ctx); err != nil {
		return nil, err
	}
	var found []driver.KeyInfo
	for after := ""; ; {
		page, err := b.list(ctx, prefix, after)
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

// list reads the next keys with the prefix that are in use.
func (b *Backend) list(ctx context.Context, prefix, after string) (page []listed, err error) {
	const last = "\U0010FFFF" // sorts after all other characters
	err = b.do(ctx, forAttempt, func(ctx context.Context, c *sql.Conn) error {
		page = nil
		s := b.sql.list
		keys, err := c.QueryContext(ctx, s.text, s.args(values{"from": after, "prefix": prefix, "to": prefix + last})...)
		if err != nil {
			return err
		}
		defer keys.Close() //nolint:errcheck // the error of reading them is checked
		busy := false
		for keys.Next() {
			var k listed
			if err := keys.Scan(append([]any{&k.key}, k.columns()...)...); err != nil {
				return err
			}
			busy = busy || k.busy > 0
			page = append(page, k)
		}
		if err := keys.Err(); err != nil || !busy {
			return err
		}
		s = b.sql.listMembers
		members, err := c.QueryContext(ctx, s.text, s.args(values{"from": page[0].key, "to": page[len(page)-1].key})...)
		if err != nil {
			return err
		}
		defer members.Close() //nolint:errcheck // the error of reading them is checked
		i := 0
		for members.Next() {
			var key string
			var r memberRow
			if err := members.Scan(append([]any{&key}, r.columns()...)...); err != nil {
				return err
			}
			for i < len(page) && page[i].key < key {
				i++
			}
			if i < len(page) && page[i].key == key {
				page[i].members = append(page[i].members, r.member())
			}
		}
		return members.Err()
	})
	return page, err
}

// info describes the key.
func (k *listed) info() driver.KeyInfo {
	k.prune()
	holders := k.holders()
	info := driver.KeyInfo{Key: k.key, Held: len(holders)}
	for i := range k.members {
		if k.members[i].waits() {
			info.Waiting++
		}
	}
	slices.SortStableFunc(holders, func(a, b member) int { return cmp.Compare(a.expires, b.expires) })
	for _, h := range holders[:min(len(holders), driver.MaxHolderInfos)] {
		info.Mode, info.Semaphore = h.sharing.Mode, h.sharing.Permits > 0
		info.Holders = append(info.Holders, driver.HolderInfo{
			Owner: driver.Fingerprint(h.owner), Holder: driver.HolderOf(h.owner), Token: uint64(h.token),
			Since: time.UnixMicro(h.since), ExpiresIn: micros(h.expires - k.now),
		})
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
		err = b.failure(ctx, errGuarded)
	}
	return held, err
}
