package recent

import (
	"hash/maphash"
	"sync/atomic"
)

// Marks has a mark for each key. Keys with the same hash share one. The zero value has
// none that is set. It is safe for concurrent use.
type Marks [256]atomic.Bool

var seed = maphash.MakeSeed()

// Of returns the mark of a key.
func (m *Marks) Of(key string) *atomic.Bool {
	return &m[maphash.String(seed, key)%uint64(len(m))]
}
