package caslock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
)

// maxSights is how many cells a process remembers.
const maxSights = 1 << 14

// sight is what this process knows of a cell.
type sight struct {
	value   []byte
	version string
	current bool                 // as far as this process knows
	count   uint64               // the largest of a record
	first   map[uint64]time.Time // when the count and the beats of the record were first seen
	crowd   bool                 // others were in the line when it was read last
	asked   bool                 // by a waiter, to set the mark with the next write
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
		now, first := time.Now(), make(map[uint64]time.Time)
		known := func(count uint64) time.Duration {
			at, ok := s.first[count]
			if !ok {
				at = now
			}
			first[count] = at
			return now.Sub(at)
		}
		r.version, r.idle = version, known(r.Count)
		for _, list := range []*[]lease{&r.Holders, &r.Taken, &r.Places} {
			var rest []lease
			for _, l := range *list {
				if l.left = time.Duration(l.TTL)*time.Millisecond - known(l.Beat); l.left > 0 {
					rest = append(rest, l)
				} else {
					r.idle = min(r.idle, -l.left)
				}
			}
			*list = rest
		}
		s.value, s.version, s.current, s.first, s.count = value, version, true, first, max(s.count, r.Count)
		s.asked, r.Count = s.asked && !r.Waiting, s.count
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
func (b *backend) update(ctx context.Context, key string, decide func(r *record) (changed bool, err error)) (r record, sent time.Time, err error) {
	start := time.Now()
	for try := 0; ; try++ {
		var last sight
		b.see(key, func(s *sight) { last = *s })
		switch err = b.fail("read", ctx.Err()); {
		case err != nil:
		case try == 0 && last.current:
			r, err = b.read(key, last.value, last.version)
		default:
			r, err = b.load(ctx, key)
		}
		if err != nil && sent.IsZero() {
			err = driver.NotSent(err)
		}
		if err != nil {
			return r, sent, err
		}
		r.step()
		changed, err := decide(&r)
		if !changed {
			if r.fresh {
				return r, sent, err
			}
			continue
		}
		sent = time.Now()
		b.see(key, func(s *sight) { r.Waiting, s.current = r.Waiting || s.asked, false })
		r.Form = form
		value := encode(r)
		swapErr := b.ask(ctx, write, func(ctx context.Context) (err error) {
			r.version, err = b.store.Swap(ctx, key, r.version, value)
			return err
		})
		switch {
		case swapErr == nil:
			_, _ = b.read(key, value, r.version) // its leases count from the answer
			return r, sent, err
		case !errors.Is(swapErr, ErrChanged):
			return r, sent, swapErr
		case time.Since(start) > patience:
			return r, sent, fmt.Errorf("the cell changed before each of %d attempts to write it", try+1)
		case try > 0: // others write it, too
			pause := rand.N(max(time.Since(sent), time.Microsecond) << min(try, 5))
			clock.Sleep(ctx, min(pause, turnTime/4)) // its turn may come meanwhile
		}
	}
}
