package lockmetrics

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/distlock-go/distlock"
)

// MaxSeries limits the combinations of name and mode. Further names count as Other, so that
// names which were made of requests by mistake do not fill the memory.
const MaxSeries = 1000

// Other is the name for those above MaxSeries.
const Other = "other"

// seriesSet has the series of each name and mode.
type seriesSet struct {
	make func(name, mode string) Series

	mu     sync.Mutex // taken to add one
	series atomic.Pointer[map[seriesID]Series]
}

type seriesID struct {
	name string
	mode mode
}

type mode uint8

const (
	exclusive mode = iota
	shared
	permits
)

func newSeriesSet(make func(name, mode string) Series) *seriesSet {
	s := &seriesSet{make: make}
	s.series.Store(new(map[seriesID]Series))
	return s
}

// of returns the series of a lock. It allocates only when it makes one.
func (s *seriesSet) of(i *distlock.LockInfo) Series {
	id := seriesID{name: i.Name}
	switch {
	case i.Permits > 0:
		id.mode = permits
	case i.Mode == distlock.Shared:
		id.mode = shared
	}
	if series, ok := (*s.series.Load())[id]; ok {
		return series
	}
	return s.add(id)
}

func (s *seriesSet) add(id seriesID) Series {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := *s.series.Load()
	if len(old) >= MaxSeries {
		id.name = Other
	}
	if series, ok := old[id]; ok {
		return series // added meanwhile
	}
	series := s.make(strings.ToValidUTF8(id.name, "\uFFFD"), [...]string{"exclusive", "shared", "permits"}[id.mode])
	next := maps.Clone(old)
	if next == nil {
		next = map[seriesID]Series{}
	}
	next[id] = series
	s.series.Store(&next)
	return series
}
