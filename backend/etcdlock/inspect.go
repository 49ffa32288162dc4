package etcdlock

import (
	"context"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// maxPlaces is how many places one request of Inspect reads.
const maxPlaces = 1000

// Inspect implements [driver.Inspector]. It does not know when the locks of other processes
// were granted and when their leases end. For a lock of concurrency.Mutex it shows a token
// without a name.
func (b *Backend) Inspect(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
	names := b.opts.prefix + EscapeKey(prefix)
	from, end := names, clientv3.GetPrefixRangeEnd(names)
	switch {
	case limit == 0:
		limit, from = 1, b.dir(prefix)
		end = clientv3.GetPrefixRangeEnd(from)
	case names == "":
		from, end = "\x00", "\x00" // all keys
	}
	queues := make(map[string]queue)
	for revision := int64(0); ; {
		resp, err := b.page(ctx, from, end, revision)
		if err != nil {
			return b.infos(queues, limit), err
		}
		for _, kv := range resp.Kvs {
			if p, key, ok := parsePlace(kv, b.opts.prefix); ok {
				queues[key] = append(queues[key], p)
			}
			from = string(kv.Key) + "\x00"
		}
		// The last queue may have more places in the next page.
		if !resp.More || len(queues) > limit {
			return b.infos(queues, limit), nil
		}
		if revision == 0 {
			revision = resp.Header.Revision // the next pages show the same state
		}
	}
}

func (b *Backend) page(ctx context.Context, from, end string, revision int64) (*clientv3.GetResponse, error) {
	op, cancel := b.opContext(ctx)
	defer cancel()
	resp, err := b.client.Get(op, from, clientv3.WithRange(end), clientv3.WithLimit(maxPlaces), clientv3.WithRev(revision))
	return resp, b.explain(op, err)
}

// infos returns what is known of the keys with these queues, in order of the keys.
func (b *Backend) infos(queues map[string]queue, limit int) []driver.KeyInfo {
	names := make([]string, 0, len(queues))
	for name := range queues {
		names = append(names, name)
	}
	slices.Sort(names) // as the servers do: the last one may be incomplete
	infos := make([]driver.KeyInfo, 0, min(len(names), limit))
	for _, name := range names[:min(len(names), limit)] {
		q := queues[name]
		q.sort()
		infos = append(infos, b.info(unescaper.Replace(name), q))
	}
	slices.SortFunc(infos, func(x, y driver.KeyInfo) int { return strings.Compare(x.Key, y.Key) })
	return infos
}

// info returns what is known of one key.
func (b *Backend) info(key string, q queue) driver.KeyInfo {
	holders := placequeue.Holders(q)
	info := driver.KeyInfo{
		Key: key, Held: len(holders), Waiting: len(q) - len(holders),
		Mode: holders[0].sharing.Mode, Semaphore: holders[0].sharing.Permits > 0,
	}
	for _, p := range holders {
		h := driver.HolderInfo{Holder: driver.HolderOf(p.owner)}
		if p.owner != "" {
			h.Owner = driver.Fingerprint(p.owner)
		}
		h.Token, _ = placequeue.Tokens(p.written, tokensPerRevision, 1)
		if l, ok := b.table.HeldAt(p.path); ok {
			h.Since, h.ExpiresIn = l.Since, time.Until(placequeue.End(l.Grant))
		}
		info.Holders = append(info.Holders, h)
	}
	slices.SortStableFunc(info.Holders, func(x, y driver.HolderInfo) int { return int(x.ExpiresIn - y.ExpiresIn) })
	info.Holders = info.Holders[:min(len(info.Holders), driver.MaxHolderInfos)]
	return info
}

// ForceRelease implements [driver.Inspector]. It deletes the places of all holders. A holder
// that uses concurrency.Mutex is not told.
func (b *Backend) ForceRelease(ctx context.Context, key string) (held bool, err error) {
	op, end := b.opContext(ctx)
	defer end()
	q, _, err := b.queue(op, key)
	if err != nil {
		return false, err
	}
	return placequeue.Each(placequeue.Holders(q), func(p place) (bool, error) { return b.delete(op, &p) })
}
