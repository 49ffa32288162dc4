package lockmetrics

import (
	"iter"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/distlock-go/distlock"
)

// maxSeries limits the combinations of name and mode. Further names count as other, so that
// names which were made of requests by mistake do not fill the memory.
const maxSeries = 1000

// other is the name for those above maxSeries.
const other = "other"

// Metrics measures locks. It is safe for concurrent use.
type Metrics struct {
	waits, holds Histogram

	mu     sync.Mutex                           // taken to add one
	series atomic.Pointer[map[seriesID]*Series] // never changed, but replaced
}

type seriesID struct{ name, mode string }

// New returns Metrics with the histograms of waits and of holds.
func New(waits, holds Histogram) *Metrics {
	m := &Metrics{waits: waits, holds: holds}
	m.series.Store(&map[seriesID]*Series{})
	return m
}

// Series returns all series so far.
func (m *Metrics) Series() iter.Seq[*Series] { return maps.Values(*m.series.Load()) }

// of returns the series of a lock. It allocates only when it makes one.
func (m *Metrics) of(i *distlock.LockInfo) *Series {
	id := seriesID{i.Name, ModeOf(i)}
	if series, ok := (*m.series.Load())[id]; ok {
		return series
	}
	return m.add(id)
}

func (m *Metrics) add(id seriesID) *Series {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := *m.series.Load()
	if len(all) >= maxSeries {
		id.name = other
	}
	if series, ok := all[id]; ok {
		return series // added meanwhile, or above the limit
	}
	more := maps.Clone(all)
	more[id] = &Series{Name: Text(id.name), Mode: id.mode, waits: times{histogram: m.waits}, holds: times{histogram: m.holds}}
	m.series.Store(&more)
	return more[id]
}
