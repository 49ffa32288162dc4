package lockmetrics

import (
	"maps"
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
	newSeries func(name, mode string) Series

	mu     sync.Mutex                          // taken to add one
	series atomic.Pointer[map[seriesID]Series] // never changed, but replaced
}

type seriesID struct {
	name string
	mode Mode
}

// of returns the series of a lock. It allocates only when it makes one.
func (s *seriesSet) of(i *distlock.LockInfo) Series {
	id := seriesID{i.Name, ModeOf(i)}
	if series, ok := s.all()[id]; ok {
		return series
	}
	return s.add(id)
}

func (s *seriesSet) all() map[seriesID]Series {
	if p := s.series.Load(); p != nil {
		return *p
	}
	return nil
}

func (s *seriesSet) add(id seriesID) Series {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all()
	if len(all) >= MaxSeries {
		id.name = Other
	}
	if series, ok := all[id]; ok {
		return series // added meanwhile, or above the limit
	}
	more := make(map[seriesID]Series, len(all)+1)
	maps.Copy(more, all)
	more[id] = s.newSeries(Text(id.name), id.mode.String())
	s.series.Store(&more)
	return more[id]
}
