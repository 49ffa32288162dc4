package caslock

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// The line of a key is who waits for it, in order of arrival: a ticket for each, or a cell with
// all of them, whose places end as leases do. A ticket has no beat: that of a dead waiter goes
// when its turn has passed. Nothing that a line says or loses can give a key to two holders.
const (
	// stands is how long a place stands without its owner.
	stands = time.Minute

	// glance is how many places of a line a decision reads at most.
	glance = 16
)

// lines is the lines of all keys.
type lines struct {
	*cells

	tickets Tickets // nil if the store has none
}

// join takes a place in the line of a key, or keeps the one that the owner has.
func (l *lines) join(ctx context.Context, key string, p lease) error {
	if l.tickets != nil {
		value := encode(p)
		return l.ask(ctx, "join the queue", func(ctx context.Context) error { return l.tickets.PutTicket(ctx, key, p.Owner, value) })
	}
	_, _, err := l.update(ctx, linePrefix+key, func(r *record) (bool, error) {
		if find(r.Places, p.Owner) == nil {
			r.Places = append(r.Places, p)
		}
		find(r.Places, p.Owner).Beat = r.Count
		return true, nil
	})
	return err
}

// leave gives up the places of owners.
func (l *lines) leave(ctx context.Context, key string, owners ...string) error {
	if l.tickets != nil {
		return l.ask(ctx, "leave the queue", func(ctx context.Context) (err error) {
			for _, owner := range owners {
				err = errors.Join(err, l.tickets.RemoveTicket(ctx, key, owner))
			}
			return err
		})
	}
	_, _, err := l.update(ctx, linePrefix+key, func(r *record) (bool, error) {
		n := len(r.Places)
		r.Places = without(r.Places, owners...)
		return len(r.Places) < n, nil
	})
	return err
}

// waiting returns the first n places of the line or more, without those of holders, which may
// not be gone yet. It remembers whether any is another owner's.
func (l *lines) waiting(ctx context.Context, key, owner string, r *record, n int) (line []lease, all bool, err error) {
	if line, all, err = l.places(ctx, key, n); err != nil {
		return nil, false, err
	}
	for _, h := range r.Holders {
		line = without(line, h.Owner)
	}
	l.see(key, func(s *sight) { s.crowd = len(without(line, owner)) > 0 })
	return line, all, nil
}

// places returns the first n places of the line or more.
func (l *lines) places(ctx context.Context, key string, n int) (line []lease, all bool, err error) {
	if l.tickets == nil {
		r, err := l.load(ctx, linePrefix+key)
		return r.Places, true, err
	}
	var values [][]byte
	err = l.ask(ctx, "read the queue", func(ctx context.Context) (err error) {
		values, err = l.tickets.OldestTickets(ctx, key, n)
		return err
	})
	for _, v := range values {
		var p lease
		if json.Unmarshal(v, &p) == nil && p.Owner != "" {
			line = append(line, p)
		}
	}
	return line, len(values) < n, err
}
