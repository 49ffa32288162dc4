package caslock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/distlock-go/distlock/internal/clock"
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
		r, err = record{}, nil // the cell has no line, and is overwritten
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

// load reads a cell.
func (b *backend) load(ctx context.Context, key string) (r record, err error) {
	var value []byte
	var version string
	err = b.ask(ctx, "read", func(ctx context.Context) (err error) {
		value, version, err = b.store.Load(ctx, key)
		return err
	})
	if err == nil {
		r, err = b.read(key, value, version)
		r.fresh = true
	}
	return r, err
}

// update lets decide change the record of a cell, and writes it if decide says so. If the cell
// has changed meanwhile, it does so again. It begins with what this process knows: a yes on that
// is safe, because the write has a condition, and a no is decided again on the word of the store.
// The error is that of decide, or says that the outcome is unknown. The time is that just before
// the last write, and zero if nothing was sent.
func (b *backend) update(ctx context.Context, key string, decide func(r *record) (write bool, err error)) (r record, sent time.Time, err error) {
	start := time.Now()
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return r, sent, err
		}
		var last sight
		b.see(key, func(s *sight) { last = *s })
		if try == 0 && last.current {
			r, err = b.read(key, last.value, last.version)
		} else {
			r, err = b.load(ctx, key)
		}
		if err != nil {
			return r, sent, err
		}
		r.step()
		write, err := decide(&r)
		if !write {
			if r.fresh {
				return r, sent, err
			}
			continue
		}
		sent = time.Now()
		swapErr := b.swap(ctx, key, &r)
		switch {
		case swapErr == nil:
			return r, sent, err
		case !errors.Is(swapErr, ErrChanged):
			return r, sent, swapErr
		case time.Since(start) > patience:
			return r, sent, fmt.Errorf("the cell changed before each of %d attempts to write it", try+1)
		case try > 0: // others write it, too; in the line these may be hundreds
			most := 3
			if strings.HasPrefix(key, linePrefix) {
				most = 7
			}
			pause := rand.N(max(time.Since(sent), time.Microsecond) << min(try, most))
			clock.Sleep(ctx, min(pause, turnTime/4)) // its turn may come meanwhile
		}
	}
}

// swap writes a record. Its leases count from the answer.
func (b *backend) swap(ctx context.Context, key string, r *record) error {
	b.see(key, func(s *sight) { r.Waiting, s.current = r.Waiting || s.asked, false })
	r.Form = form
	value := encode(r)
	err := b.ask(ctx, "write", func(ctx context.Context) (err error) {
		r.version, err = b.store.Swap(ctx, key, r.version, value)
		return err
	})
	if err == nil {
		_, err = b.read(key, value, r.version)
	}
	return err
}
