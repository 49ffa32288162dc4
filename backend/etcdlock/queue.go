package etcdlock

import (
	"cmp"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// queue is the places of a key in the order of their creation. concurrency.Mutex has
// the same order.
type queue []place

func parseQueue(kvs []*mvccpb.KeyValue, prefix string) queue {
	q := make(queue, 0, len(kvs))
	for _, kv := range kvs {
		if p, _, ok := parsePlace(kv, prefix); ok {
			q = append(q, p)
		}
	}
	q.sort()
	return q
}

func (q queue) sort() {
	slices.SortFunc(q, func(a, b place) int { return cmp.Compare(a.created, b.created) })
}

func (q queue) find(path string) int {
	return slices.IndexFunc(q, func(p place) bool { return p.path == path })
}

// admits reports whether a request for s would have the key at once.
func (q queue) admits(s driver.Sharing) bool {
	return len(placequeue.Blockers(append(slices.Clip(q), place{sharing: s}), len(q))) == 0
}
