package caslock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock/internal/clock"
)

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
		case try > 0: // others write it, too; in a line these may be hundreds
			pause := rand.N(max(time.Since(sent), time.Microsecond) << min(try, 7))
			clock.Sleep(ctx, min(pause, turnTime/4)) // its turn may come meanwhile
		}
	}
}

// swap writes a record. Its leases count from the answer.
func (b *backend) swap(ctx context.Context, key string, r *record) error {
	b.see(key, func(s *sight) { r.Waiting, s.current = r.Waiting || s.asked, false })
	value := r.encode()
	err := b.ask(ctx, "write", func(ctx context.Context) (err error) {
		r.version, err = b.store.Swap(ctx, key, r.version, value)
		return err
	})
	if err == nil {
		_, err = b.read(key, value, r.version)
	}
	return err
}
