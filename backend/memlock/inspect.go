package memlock

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Inspect implements [driver.Inspector]. It looks at all keys, one part after
// the other, which others wait for meanwhile.
func (b *Backend) Inspect(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
	var found []driver.KeyInfo
	var err error
	for i := range b.shards {
		if err = ctx.Err(); err != nil || len(found) >= limit {
			break
		}
		found = b.shards[i].inspect(prefix, limit, found)
	}
	slices.SortFunc(found, func(a, b driver.KeyInfo) int { return strings.Compare(a.Key, b.Key) })
	return found, err
}

// inspect appends the shard's keys with the prefix, up to the limit.
func (s *shard) inspect(prefix string, limit int, found []driver.KeyInfo) []driver.KeyInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for key, e := range s.keys {
		if len(found) >= limit {
			break
		}
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		if info := e.inspect(now); info.Held > 0 || info.Waiting > 0 {
			found = append(found, info)
		}
	}
	return found
}

// inspect changes nothing: holders whose lease has ended stay until somebody asks
// for the key.
func (e *entry) inspect(now time.Time) driver.KeyInfo {
	info := driver.KeyInfo{Key: e.key}
	for i := range e.holders {
		if h := &e.holders[i]; h.heldAt(now) {
			info.Holders = append(info.Holders, driver.HolderInfo{
				Owner: driver.Fingerprint(h.owner), Holder: driver.HolderOf(h.owner), Token: h.token,
				Since: time.Unix(0, h.since), ExpiresIn: h.expires.Sub(now),
			})
		}
	}
	slices.SortStableFunc(info.Holders, func(a, b driver.HolderInfo) int { return cmp.Compare(a.ExpiresIn, b.ExpiresIn) })
	if info.Held = len(info.Holders); info.Held > 0 {
		info.Mode, info.Semaphore = e.kind.mode, e.kind.permits > 0
	}
	if info.Held > driver.MaxHolderInfos {
		info.Holders = slices.Clone(info.Holders[:driver.MaxHolderInfos])
	}
	for w := e.line.first; w != nil; w = w.next {
		info.Waiting++
	}
	return info
}

// ForceRelease implements [driver.Inspector]. Those who wait have the key when
// it returns. Of deposed holders a bounded number is remembered: a later one that
// releases a key that nobody has taken since gets no error.
func (b *Backend) ForceRelease(ctx context.Context, key string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s := b.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.keys[key]
	if e == nil {
		return false, nil
	}
	e.prune(time.Now())
	held := len(e.holders) > 0
	for i := range e.holders {
		s.deposed.add(claim{key, e.holders[i].owner})
	}
	clear(e.holders)
	e.holders = e.holders[:0]
	s.passOn(e)
	return held, nil
}
