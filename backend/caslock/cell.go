package caslock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/firstuse"
)

const (
	requestTimeout = 3 * time.Second
	patience       = 10 * time.Second // with a cell that others keep changing
	maxSights      = 1 << 14          // cells that a process remembers
)

// cells is the cells of a store, and what this process knows of them.
type cells struct {
	store   Store
	checked *firstuse.Check // Checker.Check

	mu     sync.Mutex
	sights map[string]*sight
}

// sight is what this process knows of a cell.
type sight struct {
	record  record               // as it was written, with its version
	current bool                 // as far as this process knows
	count   uint64               // the largest of a record
	first   map[uint64]time.Time // when the count and the beats of the record were first seen
	crowd   bool                 // others were in the line when it was read last
	asked   bool                 // by a waiter, to set the mark with the next write
}

// see calls f with what is known of the cell.
func (c *cells) see(key string, f func(s *sight)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sights[key]
	if s == nil {
		for old := range c.sights {
			if len(c.sights) < maxSights {
				break
			}
			delete(c.sights, old)
		}
		s = &sight{}
		c.sights[key] = s
	}
	f(s)
}

// write is the operation that must not be carried out again.
const write = "write"

// ask carries out a request to the store, and says what failed. A Checker is asked before the
// first use.
func (c *cells) ask(ctx context.Context, op string, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if s, ok := c.store.(Checker); ok {
		if err := c.checked.Do(ctx, func(ctx context.Context) error { return again(ctx, s.Check) }); err != nil {
			return c.fail("check", err)
		}
	}
	if op == write {
		return c.fail(op, f(ctx))
	}
	return c.fail(op, again(ctx, f))
}

// again carries out a request until it has an answer, three times at most.
func again(ctx context.Context, f func(ctx context.Context) error) (err error) {
	for range 3 {
		if err = f(ctx); !errors.Is(err, ErrNoAnswer) {
			break
		}
	}
	return err
}

// fail says what failed, and where.
func (c *cells) fail(op string, err error) error {
	if name, ok := c.store.(fmt.Stringer); ok && err != nil {
		return fmt.Errorf("%s: %s: %w", name, op, err)
	}
	return err
}

// read remembers the value of a cell, and returns its record.
func (c *cells) read(key string, value []byte, version string) (record, error) {
	r, err := parse(value)
	if err != nil && !strings.HasPrefix(key, linePrefix) { // a cell without a line is overwritten
		return record{}, err
	}
	r.version = version
	return c.remember(key, r), nil
}

// remember remembers a record that nobody changes any more, and returns it with lists of its own.
// Leases that have ended are not in them.
func (c *cells) remember(key string, r record) record {
	c.see(key, func(s *sight) {
		now, first := time.Now(), make(map[uint64]time.Time)
		known := func(count uint64) time.Duration {
			at, ok := s.first[count]
			if !ok {
				at = now
			}
			first[count] = at
			return now.Sub(at)
		}
		s.record, s.current, s.count = r, true, max(s.count, r.Count)
		r.idle, r.fresh = known(r.Count), false
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
		s.first, s.asked, r.Count = first, s.asked && !r.Waiting, s.count
	})
	return r
}

// load reads a cell.
func (c *cells) load(ctx context.Context, key string) (r record, err error) {
	var value []byte
	var version string
	err = c.ask(ctx, "read", func(ctx context.Context) (err error) {
		value, version, err = c.store.Load(ctx, key)
		return err
	})
	if err == nil {
		r, err = c.read(key, value, version)
		r.fresh = true
	}
	return r, err
}

// update lets decide change the record of a cell, and writes it if decide says so. If the cell
// has changed meanwhile, it does so again. It begins with what this process knows: a yes on that
// is safe, because the write has a condition, and a no is decided again on the word of the store.
// The error is that of decide, or says that the outcome is unknown. The time is that just before
// the last write, and zero if nothing was sent.
func (c *cells) update(ctx context.Context, key string, decide func(r *record) (changed bool, err error)) (r record, sent time.Time, err error) {
	start := time.Now()
	for try := 0; ; try++ {
		var last sight
		c.see(key, func(s *sight) { last = *s })
		switch err = c.fail("read", ctx.Err()); {
		case err != nil:
		case try == 0 && last.current:
			r = c.remember(key, last.record)
		default:
			r, err = c.load(ctx, key)
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
		c.see(key, func(s *sight) { r.Waiting, s.current = r.Waiting || s.asked, false })
		r.Form = form
		swapErr := c.ask(ctx, write, func(ctx context.Context) (err error) {
			r.version, err = c.store.Swap(ctx, key, r.version, encode(r))
			return err
		})
		switch {
		case swapErr == nil:
			c.remember(key, r) // its leases count from the answer
			return r, sent, err
		case !errors.Is(swapErr, ErrChanged):
			return r, sent, swapErr
		case time.Since(start) > patience:
			return r, sent, c.fail(write, fmt.Errorf("the cell of %q changed before each of %d attempts", key, try+1))
		case try > 0: // others write it, too
			pause := rand.N(max(time.Since(sent), time.Microsecond) << min(try, 5))
			clock.Sleep(ctx, min(pause, turnTime/4)) // its turn may come meanwhile
		}
	}
}
