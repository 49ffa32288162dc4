package torture

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// replica is the data of a server at an earlier time.
type replica map[string]value

type value struct {
	text  string
	set   map[string]float64 // a sorted set
	until time.Time          // zero: it does not expire
}

// copyOf returns the data of a server at a time of its clock.
func copyOf(m *miniredis.Miniredis, at time.Time) replica {
	r := make(replica)
	for _, key := range m.Keys() {
		var v value
		if m.Type(key) == "zset" {
			v.set, _ = m.SortedSet(key)
		} else {
			v.text, _ = m.Get(key)
		}
		if ttl := m.TTL(key); ttl > 0 {
			v.until = at.Add(ttl)
		}
		r[key] = v
	}
	return r
}

// takeOver replaces the data of a server.
func (r replica) takeOver(tb testing.TB, m *miniredis.Miniredis, at time.Time) {
	tb.Helper()
	m.FlushAll()
	for _, key := range slices.Sorted(maps.Keys(r)) {
		v := r[key]
		if !v.until.IsZero() && !v.until.After(at) {
			continue
		}
		var err error
		if v.set == nil {
			err = m.Set(key, v.text)
		}
		for member, score := range v.set {
			_, err = m.ZAdd(key, score, member)
		}
		if err != nil {
			tb.Error(err)
		}
		if !v.until.IsZero() {
			m.SetTTL(key, v.until.Sub(at))
		}
	}
}
