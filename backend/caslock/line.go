package caslock

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// The line of a key is who waits for it, in order of arrival: a ticket for each, or a cell with
// all of them, whose places end as leases do. A ticket has no beat: that of a dead waiter goes
// when its turn has passed. Nothing that a line says or loses can give a key to two holders.
const (
	// linePrefix begins the keys of cells that have lines. The keys of locks have no such
	// character.
	linePrefix = "\x00"

	// stands is how long a place stands without its owner.
	stands = time.Minute
)

// lease returns what is written of the owner as a holder or a waiter.
func (b *backend) lease(r *driver.Request) lease {
	return lease{
		Owner: r.Owner, TTL: millis(stands), Since: time.Now().UnixMilli(),
		Shared: r.Mode == driver.Shared, Permits: r.Permits, Reply: b.topic,
	}
}

// join takes a place in the line of a key, or keeps the one that the owner has.
func (b *backend) join(ctx context.Context, key string, l lease) error {
	if b.tickets != nil {
		value := encode(l)
		return b.ask(ctx, "join the queue", func(ctx context.Context) error { return b.tickets.PutTicket(ctx, key, l.Owner, value) })
	}
	_, _, err := b.update(ctx, linePrefix+key, func(r *record) (bool, error) {
		if find(r.Places, l.Owner) == nil {
			r.Places = append(r.Places, l)
		}
		find(r.Places, l.Owner).Beat = r.Count
		return true, nil
	})
	return err
}

// leave gives up the places of owners.
func (b *backend) leave(ctx context.Context, key string, owners ...string) error {
	if b.tickets != nil {
		return b.ask(ctx, "leave the queue", func(ctx context.Context) (err error) {
			for _, owner := range owners {
				err = errors.Join(err, b.tickets.RemoveTicket(ctx, key, owner))
			}
			return err
		})
	}
	_, _, err := b.update(ctx, linePrefix+key, func(r *record) (bool, error) {
		n := len(r.Places)
		r.Places = without(r.Places, owners...)
		return len(r.Places) < n, nil
	})
	return err
}

// waiting returns the first n places of the line or more, without those of holders, which may
// not be gone yet. It remembers whether any is another owner's.
func (b *backend) waiting(ctx context.Context, key, owner string, r *record, n int) (line []lease, all bool, err error) {
	if line, all, err = b.places(ctx, key, n); err != nil {
		return nil, false, err
	}
	for _, h := range r.Holders {
		line = without(line, h.Owner)
	}
	b.see(key, func(s *sight) { s.crowd = len(without(line, owner)) > 0 })
	return line, all, nil
}

// places returns the first n places of the line or more.
func (b *backend) places(ctx context.Context, key string, n int) (line []lease, all bool, err error) {
	if b.tickets == nil {
		r, err := b.load(ctx, linePrefix+key)
		return r.Places, true, err
	}
	var values [][]byte
	err = b.ask(ctx, "read the queue", func(ctx context.Context) (err error) {
		values, err = b.tickets.OldestTickets(ctx, key, n)
		return err
	})
	for _, v := range values {
		var l lease
		if json.Unmarshal(v, &l) == nil && l.Owner != "" {
			line = append(line, l)
		}
	}
	return line, len(values) < n, err
}
