package etcdlock

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// maxPlaces is how many places one request of Inspect reads.
const maxPlaces = 1000

// Inspect implements [driver.Inspector]. It does not know when the locks of other
// processes were granted, when their leases end, and since when a waiter waits. For a
// lock of concurrency.Mutex it shows a token without a name. It reads all places of each
// key: a process has one, however many of its callers wait.
func (b *backend) Inspect(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
	found := make(map[string]queue)
	if prefix != "" { // the servers may have it after others
		if err := b.read(ctx, b.dir(prefix), found, 1); err != nil {
			return nil, err
		}
	}
	if len(found) >= limit {
		return b.infos(found, max(limit, 1)), nil
	}
	err := b.read(ctx, b.config.Prefix+EscapeKey(prefix), found, limit)
	return b.infos(found, limit), err
}

// read adds the places below a name in etcd to found, by escaped key. It skips the keys that found
// has, stops when there are more keys than the limit, and leaves out a key that it has not read to
// its end.
func (b *backend) read(ctx context.Context, names string, found map[string]queue, limit int) error {
	from, end, last := names, clientv3.WithRange(clientv3.GetPrefixRangeEnd(names)), ""
	before := maps.Clone(found)
	for revision := int64(0); ; {
		resp, err := b.page(ctx, from, revision, end)
		if err != nil {
			delete(found, last)
			return err
		}
		for _, kv := range resp.Kvs {
			p, key, ok := parsePlace(kv, b.config.Prefix)
			if _, known := before[key]; ok && !known {
				found[key], last = append(found[key], p), key
			}
			from = string(kv.Key) + "\x00"
		}
		if revision == 0 {
			revision = resp.Header.Revision // the next requests show the same state
		}
		if !resp.More {
			return nil
		}
		if len(found) > limit {
			delete(found, last)
			return nil
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

// infos returns what is known of the keys with these places.
func (b *backend) infos(found map[string]queue, limit int) []driver.KeyInfo {
	names := slices.Sorted(maps.Keys(found)) // in the order of the servers
	infos := make([]driver.KeyInfo, 0, min(len(names), limit))
	for _, name := range names[:min(len(names), limit)] {
		q := found[name]
		q.sort()
		infos = append(infos, b.info(unescaper.Replace(name), q))
	}
	return infos
}

// info returns what is known of one key.
func (b *backend) info(key string, q queue) driver.KeyInfo {
	holders, waiters := placequeue.Split(q)
	info := driver.KeyInfo{
		Key: key, Held: len(holders), Waiting: len(waiters),
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
