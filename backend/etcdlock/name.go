package etcdlock

import (
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/distlock-go/distlock/driver"
)

var (
	escaper   = strings.NewReplacer("%", "%25", "/", "%2F")
	unescaper = strings.NewReplacer("%25", "%", "%2F", "/")
)

// EscapeKey returns the name of a key in etcd, without the prefix: the key itself, in which
// %2F stands for each slash and %25 for each percent sign. A slash ends the name, so no
// name is within another one. The escaped name of a prefix of the key is a prefix of the
// escaped key.
func EscapeKey(key string) string { return escaper.Replace(key) }

// place is one owner's place in the queue of a key. It is a key in etcd, named
//
//	<prefix><escaped key>/<lease in hex>.<number in hex>/<owner>
//
// The number makes each ticket's place unique. concurrency.Mutex names its places
// <prefix><escaped key>/<lease in hex>. The value of a place says what it asks for.
type place struct {
	path    string // the whole key in etcd
	owner   string // "" if another program has made the place
	sharing driver.Sharing
	created int64 // the revision that has created the place: the order of the queue
	written int64 // the revision that has written it last
}

const (
	valueExclusive = "exclusive"
	valueShared    = "shared"
	valuePermits   = "permits "
)

// valueOf returns the value of a place that asks for s.
func valueOf(s driver.Sharing) string {
	switch {
	case s.Permits > 0:
		return valuePermits + strconv.Itoa(s.Permits)
	case s.Mode == driver.Shared:
		return valueShared
	default:
		return valueExclusive
	}
}

// sharingOf is the inverse of valueOf. Any other value is that of another program and
// stands for an exclusive lock.
func sharingOf(value string) driver.Sharing {
	if value == valueShared {
		return driver.Sharing{Mode: driver.Shared}
	}
	if text, ok := strings.CutPrefix(value, valuePermits); ok {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			return driver.Sharing{Permits: n}
		}
	}
	return driver.Sharing{}
}

// parsePlace returns the place that a key in etcd is, and the escaped key of the lock. It
// returns false if the key in etcd is not a place.
func parsePlace(kv *mvccpb.KeyValue, prefix string) (p place, key string, ok bool) {
	path := string(kv.Key)
	key, rest, ok := strings.Cut(strings.TrimPrefix(path, prefix), "/")
	if !ok || key == "" || key == sessions {
		return place{}, "", false
	}
	_, owner, _ := strings.Cut(rest, "/")
	return place{
		path: path, owner: owner, sharing: sharingOf(string(kv.Value)),
		created: kv.CreateRevision, written: kv.ModRevision,
	}, key, true
}
