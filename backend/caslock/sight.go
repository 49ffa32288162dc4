package caslock

import (
	"strings"
	"time"
)

// maxSights is how many cells a process remembers.
const maxSights = 1 << 14

// sight is what this process knows of a cell.
type sight struct {
	value   []byte
	version string
	current bool            // as far as this process knows
	count   uint64          // the largest of a record
	beats   map[string]beat // of the leases in the cell, by owner
	free    string          // the version in which the key is free
	since   time.Time       // when that was first known
	crowd   bool            // others were in the line when it was read last
	asked   bool            // by a waiter, to set the mark with the next write
}

// beat is when a beat was first seen.
type beat struct {
	count uint64
	at    time.Time
}

// sightOf returns what is known of the cell. The caller has b.mu.
func (b *backend) sightOf(key string) *sight {
	s := b.sights[key]
	if s == nil {
		for old := range b.sights {
			if len(b.sights) < maxSights {
				break
			}
			delete(b.sights, old)
		}
		s = &sight{}
		b.sights[key] = s
	}
	return s
}

// see calls f with what is known of the cell.
func (b *backend) see(key string, f func(s *sight)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b.sightOf(key))
}

// know keeps the value of a cell.
func (b *backend) know(key string, value []byte, version string) {
	b.see(key, func(s *sight) { s.value, s.version, s.current = value, version, true })
}

// open reads a value. Leases that have ended are not among those of the record.
func (b *backend) open(key string, value []byte, version string) (record, error) {
	r, err := parse(value)
	if err != nil && strings.HasPrefix(key, linePrefix) {
		r, err = record{}, nil // it is no line, and is overwritten
	}
	if r.version = version; err != nil {
		return r, err
	}
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sightOf(key)
	s.count = max(s.count, r.Count)
	r.Count = s.count
	if len(r.Holders)+len(r.Taken)+len(r.Places) == 0 {
		s.beats = nil
		return r, nil
	}
	beats := make(map[string]beat)
	for _, list := range []*[]lease{&r.Holders, &r.Taken, &r.Places} {
		var rest []lease
		for _, l := range *list {
			seen, ok := s.beats[l.Owner]
			if !ok || seen.count != l.Beat {
				seen = beat{l.Beat, now}
			}
			beats[l.Owner] = seen
			if l.left = time.Duration(l.TTL)*time.Millisecond - now.Sub(seen.at); l.left > 0 {
				rest = append(rest, l)
			} else {
				r.ended = append(r.ended, l)
			}
		}
		*list = rest
	}
	s.beats = beats
	return r, nil
}

// idle returns for how long this process has known that the key is free in this version.
func (b *backend) idle(key, version string) (d time.Duration) {
	b.see(key, func(s *sight) {
		if s.since.IsZero() || s.free != version {
			s.free, s.since = version, time.Now()
		}
		d = time.Since(s.since)
	})
	return d
}
