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
	crowd   bool            // others were in the line when it was read last
	asked   bool            // to set the mark
	since   time.Time       // when that was first known
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

// know keeps the value of a cell.
func (b *backend) know(key string, value []byte, version string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sightOf(key)
	s.value, s.version, s.current = value, version, true
}

// doubt forgets the value of a cell.
func (b *backend) doubt(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.sights[key]; s != nil {
		s.current = false
	}
}

// recall returns the value of a cell that this process has seen last.
func (b *backend) recall(key string) (value []byte, version string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sights[key]
	if s == nil || !s.current {
		return nil, "", false
	}
	return s.value, s.version, true
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
func (b *backend) idle(key, version string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sightOf(key)
	if s.since.IsZero() || s.free != version {
		s.free, s.since = version, time.Now()
	}
	return time.Since(s.since)
}

// asked says whether a waiter asks the holders to set the mark.
func (b *backend) asked(key string, asked bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sightOf(key).asked = asked
}

func (b *backend) isAsked(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sightOf(key).asked
}

// noted says whether others were in the line of the key.
func (b *backend) noted(key string, others bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sightOf(key).crowd = others
}

// crowd reports whether others were in the line of the key when this process read it last.
func (b *backend) crowd(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sightOf(key).crowd
}
