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
	since   time.Time       // when this version was first seen
	count   uint64          // the largest of a record
	beats   map[string]beat // of the leases in the cell, by owner
	crowd   bool            // others were in the line when it was read last
	asked   bool            // by a waiter, to set the mark with the next write
}

// beat is when a beat was first seen.
type beat struct {
	count uint64
	at    time.Time
}

// see calls f with what is known of the cell.
func (b *backend) see(key string, f func(s *sight)) {
	b.mu.Lock()
	defer b.mu.Unlock()
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
	f(s)
}

// read remembers the value of a cell, and returns its record. Leases that have ended are not
// among those of the record.
func (b *backend) read(key string, value []byte, version string) (record, error) {
	r, err := parse(value)
	if err != nil && strings.HasPrefix(key, linePrefix) {
		r, err = record{}, nil // it is no line, and is overwritten
	}
	b.see(key, func(s *sight) {
		now, beats := time.Now(), make(map[string]beat)
		if s.since.IsZero() || s.version != version {
			s.since = now
		}
		s.value, s.version, s.current, s.count = value, version, true, max(s.count, r.Count)
		s.asked = s.asked && !r.Waiting
		r.version, r.Count, r.idle = version, s.count, now.Sub(s.since)
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
					r.ended, r.idle = append(r.ended, l), min(r.idle, -l.left)
				}
			}
			*list = rest
		}
		s.beats = beats
	})
	return r, err
}
