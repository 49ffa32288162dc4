package lockmetrics

import (
	"context"
	"iter"
	"maps"
	"sync"
	"sync/atomic"
	"time"

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
func (m *Metrics) of(e *distlock.Event) *Series {
	id := seriesID{e.Name, ModeOf(e)}
	if series, ok := (*m.series.Load())[id]; ok {
		return series
	}
	return m.add(id)
}

func (m *Metrics) add(id seriesID) *Series {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := *m.series.Load()
	id.name = Text(id.name) // two series with one label would end a scrape
	if len(all) >= maxSeries {
		id.name = other
	}
	if series, ok := all[id]; ok {
		return series // added meanwhile, or above the limit
	}
	more := maps.Clone(all)
	more[id] = &Series{Name: id.name, Mode: id.mode, waits: times{histogram: m.waits}, holds: times{histogram: m.holds}}
	m.series.Store(&more)
	return more[id]
}

// Series has the measurements of the locks with one name and mode. It is safe for concurrent
// use.
type Series struct {
	Name, Mode string // the labels

	Waiting atomic.Int64 // acquisitions under way
	Held    atomic.Int64 // locks held
	Renewed atomic.Int64 // renewals so far
	Failed  atomic.Int64 // renewals that failed so far
	Losses  atomic.Int64 // so far

	waits, holds times
}

// Observe records a time in a histogram. It gets the context of the caller of the
// acquisition, and is called concurrently.
type Observe func(ctx context.Context, seconds float64)

// Histogram returns the histogram of a name, a mode and an outcome. It may be called more than
// once for them, and concurrently.
type Histogram func(name, mode, outcome string) Observe

// times has a histogram for each outcome, made when it is first used: each is many series.
type times struct {
	histogram Histogram
	made      [outcomes]atomic.Pointer[Observe]
}

func (t *times) observe(ctx context.Context, s *Series, d time.Duration, o Outcome) {
	observe := t.made[o].Load()
	if observe == nil {
		made := t.histogram(s.Name, s.Mode, o.String())
		observe = &made
		t.made[o].Store(observe)
	}
	(*observe)(ctx, d.Seconds())
}
