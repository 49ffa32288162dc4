package etcdlock

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// maxPlaces is how many places one request of Inspect reads.
const maxPlaces = 1000

// Inspect implements [driver.Inspector]. It does not know when the locks of other
// processes were granted, when their leases end, and since when a waiter waits. For a
// lock of concurrency.Mutex it shows a token without a name.
//
// Of a long queue it reads the holders and at most 2,000 more places.
func (b *backend) Inspect(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
	found, exactly := make(map[string]line), EscapeKey(prefix)
	if prefix != "" { // the servers may have it after others
		l, err := b.front(ctx, b.dir(prefix), 0)
		if err != nil {
			return nil, err
		}
		if len(l.queue) > 0 {
			found[exactly] = l
		}
	}
	if len(found) >= limit {
		return b.infos(found, max(limit, 1)), nil
	}
	names := b.config.Prefix + exactly
	from, end := names, clientv3.GetPrefixRangeEnd(names)
	for revision := int64(0); ; {
		resp, err := b.page(ctx, from, revision, clientv3.WithRange(end))
		if err != nil {
			return b.infos(found, limit), err
		}
		last := ""
		for _, kv := range resp.Kvs {
			if p, key, ok := parsePlace(kv, b.config.Prefix); ok {
				if l := found[key]; key != exactly {
					found[key] = line{append(l.queue, p), l.places + 1}
				}
				last = key
			}
			from = string(kv.Key) + "\x00"
		}
		if revision == 0 {
			revision = resp.Header.Revision // the next requests show the same state
		}
		// The last queue may have more places.
		if resp.More && last != "" {
			dir := b.config.Prefix + last + "/"
			if last != exactly {
				if found[last], err = b.front(ctx, dir, revision); err != nil {
					delete(found, last)
					return b.infos(found, limit), err
				}
			}
			from = max(from, clientv3.GetPrefixRangeEnd(dir))
		}
		if !resp.More || len(found) > limit {
			return b.infos(found, limit), nil
		}
	}
}

// line is the places of a key from the front, and how many there are.
type line struct {
	queue  queue
	places int64
}

// front reads a queue from the front, until a place waits.
func (b *backend) front(ctx context.Context, dir string, revision int64) (l line, err error) {
	for {
		after := int64(0)
		if n := len(l.queue); n > 0 {
			after = l.queue[n-1].created
		}
		resp, err := b.page(ctx, dir, revision, clientv3.WithPrefix(), clientv3.WithMinCreateRev(after+1),
			clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
		if err != nil {
			return line{}, err
		}
		l = line{append(l.queue, parseQueue(resp.Kvs, b.config.Prefix)...), resp.Count}
		if n := len(l.queue); !resp.More || len(placequeue.Blockers(l.queue, n-1)) > 0 {
			return l, nil
		}
	}
}

func (b *backend) page(ctx context.Context, from string, revision int64, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	op, cancel := b.opContext(ctx)
	defer cancel()
	resp, _, err := twice(op, b.link, func(ctx context.Context) (*clientv3.GetResponse, error) {
		return b.client.Get(ctx, from, append(opts, clientv3.WithLimit(maxPlaces), clientv3.WithRev(revision))...)
	})
	return resp, b.explain(op, err)
}

// infos returns what is known of the keys with these places, in order of the keys.
func (b *backend) infos(found map[string]line, limit int) []driver.KeyInfo {
	names := slices.Sorted(maps.Keys(found)) // in the order of the servers
	infos := make([]driver.KeyInfo, 0, min(len(names), limit))
	for _, name := range names[:min(len(names), limit)] {
		l := found[name]
		l.queue.sort()
		infos = append(infos, b.info(unescaper.Replace(name), l))
	}
	slices.SortFunc(infos, func(x, y driver.KeyInfo) int { return strings.Compare(x.Key, y.Key) })
	return infos
}

// info returns what is known of one key.
func (b *backend) info(key string, l line) driver.KeyInfo {
	holders, waiters := placequeue.Split(l.queue)
	info := driver.KeyInfo{
		Key: key, Held: len(holders), Waiting: int(l.places) - len(holders),
		Mode: holders[0].sharing.Mode, Semaphore: holders[0].sharing.Permits > 0,
	}
	for _, p := range holders {
		h := driver.HolderInfo{Owner: fingerprint(p), Holder: driver.HolderOf(p.owner)}
		h.Token, h.LastToken = placequeue.Tokens(p.written, tokensPerRevision, driver.MaxTokens)
		if l, ok := b.table.HeldAt(p.path); ok {
			h.Since, h.ExpiresIn = l.Since, time.Until(placequeue.End(l.Grant))
		}
		info.Holders = append(info.Holders, h)
	}
	slices.SortStableFunc(info.Holders, func(x, y driver.HolderInfo) int { return cmp.Compare(x.ExpiresIn, y.ExpiresIn) })
	info.Holders = info.Holders[:min(len(info.Holders), driver.MaxHolderInfos)]
	for _, p := range waiters[:min(len(waiters), driver.MaxWaiterInfos)] {
		info.Waiters = append(info.Waiters, driver.WaiterInfo{
			Owner: fingerprint(p), Waiter: driver.HolderOf(p.owner), Mode: p.sharing.Mode, Permits: p.sharing.Permits,
		})
	}
	return info
}

// fingerprint returns "" for a place of another program, which has no owner.
func fingerprint(p place) string {
	if p.owner == "" {
		return ""
	}
	return driver.Fingerprint(p.owner)
}

// ForceRelease implements [driver.Inspector]. It deletes the places of all holders. A
// holder that uses concurrency.Mutex is not told.
func (b *backend) ForceRelease(ctx context.Context, key string) (held bool, err error) {
	op, end := b.opContext(ctx)
	defer end()
	q, _, err := b.queue(op, key)
	if err != nil {
		return false, err
	}
	holders, _ := placequeue.Split(q)
	return placequeue.Each(holders, func(p place) (bool, error) { return b.delete(op, &p) })
}
