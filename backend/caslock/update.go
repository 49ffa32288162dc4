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

// load reads a cell.
func (b *backend) load(ctx context.Context, key string) (record, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()

	if err := b.check(ctx); err != nil {
		return record{}, b.fail("check", err)
	}
	value, version, err := b.store.Load(ctx, key)
	if err != nil {
		return record{}, b.fail("read", err)
	}
	b.know(key, value, version)
	r, err := b.open(key, value, version)
	r.fresh = true
	return r, err
}

// written is a record after a decision.
type written struct {
	record

	sent time.Time // just before the write; zero if nothing was sent
}

// update reads a cell, lets decide change the record, and writes it if decide says so. If the
// cell has changed meanwhile, it does so again. It begins with what this process knows, if
// known is set. A yes on that is safe, because the write has a condition; a no is decided again
// on the word of the store. The error is that of decide, or says that the outcome is unknown.
func (b *backend) update(ctx context.Context, key, owner string, known bool, decide func(r *record) (write bool, err error)) (w written, err error) {
	start := time.Now()
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return w, err
		}
		var last sight
		b.see(key, func(s *sight) { last = *s })
		if known && try == 0 && last.current {
			w.record, err = b.open(key, last.value, last.version)
		} else {
			w.record, err = b.load(ctx, key)
		}
		if err != nil {
			return w, err
		}
		w.step()
		write, err := decide(&w.record)
		if !write {
			if w.fresh {
				return w, err
			}
			continue
		}
		b.see(key, func(s *sight) { w.Waiting = w.Waiting || s.asked })
		w.sent = time.Now()
		swapErr := b.swap(ctx, key, &w.record)
		switch {
		case swapErr == nil:
			b.setUnsure(owner, false)
			return w, err
		case !errors.Is(swapErr, ErrChanged):
			b.setUnsure(owner, true)
			return w, swapErr
		case time.Since(start) > patience:
			return w, fmt.Errorf("the cell changed before each of %d attempts to write it", try+1)
		case try > 0: // others write it, too; in the line these may be hundreds
			most := 3
			if strings.HasPrefix(key, linePrefix) {
				most = 7
			}
			pause := rand.N(max(time.Since(w.sent), time.Microsecond) << min(try, most))
			clock.Sleep(ctx, min(pause, turnTime/4)) // its turn may come meanwhile
		}
	}
}

func (b *backend) swap(ctx context.Context, key string, r *record) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	value := r.encode()
	version, err := b.store.Swap(ctx, key, r.version, value)
	if err != nil {
		b.see(key, func(s *sight) { s.current = false })
		return b.fail("write", err)
	}
	r.version = version
	b.see(key, func(s *sight) {
		s.value, s.version, s.current = value, version, true
		s.asked = s.asked && !r.Waiting
	})
	_, err = b.open(key, value, version) // its leases were seen now
	return err
}

// setUnsure says whether a request of the owner may still arrive and fit. A later write of the
// cell makes it unfit.
func (b *backend) setUnsure(owner string, unsure bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if unsure {
		b.unsure[owner] = true
	} else {
		delete(b.unsure, owner)
	}
}
