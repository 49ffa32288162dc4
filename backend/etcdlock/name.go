package etcdlock

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

var (
	escaper   = strings.NewReplacer("%", "%25", "/", "%2F")
	unescaper = strings.NewReplacer("%25", "%", "%2F", "/")
)

// EscapeKey returns the name of a key in etcd, without the prefix: the key itself, in
// which %2F stands for each slash and %25 for each percent sign. A slash ends the name,
// so no name is within another one. The escaped name of a prefix of the key is a prefix
// of the escaped key.
func EscapeKey(key string) string { return escaper.Replace(key) }

// sessions is where the fences are, below the prefix. No escaped key has this name.
const sessions = "%session"

// dirOf returns what the names of the places of a key begin with.
func dirOf(prefix, key string) string { return prefix + EscapeKey(key) + "/" }

// place is one owner's place in the queue of a key. It is a key in etcd, named
//
//	<prefix><escaped key>/<lease>.<fence>.<slot>
//
// with the numbers in hex. The value says what the place asks for, and names the owner.
// concurrency.Mutex names its places <prefix><escaped key>/<lease>.
//
// Servers keep the names of deleted keys until their history is compacted, and look at
// each of them when they read a queue. So names are used again: see slots.
type place struct {
	path    string // the whole key in etcd
	owner   string // "" if another program has made the place
	sharing driver.Sharing
	created int64 // the revision that has created the place: the order of the queue
	written int64 // the revision that has written it last
}

// tokensPerRevision is how many fencing tokens one revision yields. A revision belongs
// to one write, and revisions rise for as long as the cluster keeps its data. The
// tokens of a grant are made of the revision of the last write to the owner's key in
// etcd.
const tokensPerRevision = 1024

// Sharing returns what the owner of the place asks for.
func (p place) Sharing() driver.Sharing { return p.sharing }

const (
	valueExclusive = "exclusive"
	valueShared    = "shared"
	valuePermits   = "permits="
)

// kindOf returns the part of a place's value that says what it asks for.
func kindOf(s driver.Sharing) string {
	switch {
	case s.Permits > 0:
		return valuePermits + strconv.Itoa(s.Permits)
	case s.Mode == driver.Shared:
		return valueShared
	default:
		return valueExclusive
	}
}

func valueOf(s driver.Sharing, owner string) string { return kindOf(s) + " " + owner }

// parseValue is the inverse of valueOf. Any other value was written by another program
// and stands for an exclusive lock.
func parseValue(value string) (driver.Sharing, string) {
	kind, owner, _ := strings.Cut(value, " ")
	switch kind {
	case valueExclusive:
		return driver.Sharing{}, owner
	case valueShared:
		return driver.Sharing{Mode: driver.Shared}, owner
	}
	if text, ok := strings.CutPrefix(kind, valuePermits); ok {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			return driver.Sharing{Permits: n}, owner
		}
	}
	return driver.Sharing{}, ""
}

// parsePlace returns the place that a key in etcd is, and the escaped key of the lock.
// It returns false if the key in etcd is not a place.
func parsePlace(kv *mvccpb.KeyValue, prefix string) (p place, key string, ok bool) {
	p = place{path: string(kv.Key), created: kv.CreateRevision, written: kv.ModRevision}
	key, _, ok = strings.Cut(strings.TrimPrefix(p.path, prefix), "/")
	if !ok || key == "" || key == sessions { // a lock has no empty key
		return place{}, "", false
	}
	p.sharing, p.owner = parseValue(string(kv.Value))
	return p, key, true
}

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
