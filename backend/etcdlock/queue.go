package etcdlock

import (
	"cmp"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/distlock-go/distlock/driver"
)

// queue is the places of a key in the order of their creation. The order is that of
// concurrency.Mutex.
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

// sort sorts the places. Several places have the same revision if one transaction has
// created them, but not in the queue of one key.
func (q queue) sort() {
	slices.SortFunc(q, func(a, b place) int { return cmp.Compare(a.created, b.created) })
}

func (q queue) find(path string) int {
	return slices.IndexFunc(q, func(p place) bool { return p.path == path })
}

// created returns the revision that has created place i, or 0 if i is -1.
func (q queue) created(i int) int64 {
	if i < 0 {
		return 0
	}
	return q[i].created
}

// blockers returns the places that place i waits for: while all of them are there, it
// cannot have the key. If there are none, it has the key. [driver.Sharing.Admits] is the
// rule, applied to the places in front of place i as if all of them had the key.
//
// Usually there is one blocker, the nearest place in front that does not share the key
// with place i. A request for one of n permits waits for the n places in front of it if all
// of those ask for permits; each that goes may be enough.
func (q queue) blockers(i int) queue {
	s := q[i].sharing
	for n := 1; n <= i; n++ {
		front := q[i-n].sharing
		switch {
		case !front.Admits(1, s):
			return q[i-n : i-n+1]
		case !front.Admits(n, s):
			return q[i-n : i]
		}
	}
	return nil
}

// admits reports whether a request for s would have the key at once.
func (q queue) admits(s driver.Sharing) bool {
	return len(append(slices.Clip(q), place{sharing: s}).blockers(len(q))) == 0
}

// holders returns the places that have the key.
func (q queue) holders() queue {
	var held queue
	for i, p := range q {
		if len(q.blockers(i)) == 0 {
			held = append(held, p)
		}
	}
	return held
}
