package caslock

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// line keeps who waits for a key, in order of arrival. Nothing that it says or loses can give
// a key to two holders.
type line interface {
	// join takes a place, or keeps the one that the owner has.
	join(ctx context.Context, key string, l lease) error
	leave(ctx context.Context, key string, owners ...string) error

	// places returns the first n places or more.
	places(ctx context.Context, key string, n int) (first []lease, all bool, err error)
}

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

// waiting returns the first n places of the line or more, without those of holders, which may
// not be gone yet. It remembers whether any is another owner's.
func (b *backend) waiting(ctx context.Context, key, owner string, r *record, n int) (line []lease, all bool, err error) {
	line, all, err = b.line.places(ctx, key, n)
	if err == nil {
		for _, h := range r.Holders {
			line = without(line, h.Owner)
		}
		b.see(key, func(s *sight) { s.crowd = len(without(line, owner)) > 0 })
	}
	return line, all, err
}

// cellLine keeps the line of each key in one cell. A place ends as leases do.
type cellLine struct{ b *backend }

func (c cellLine) join(ctx context.Context, key string, l lease) error {
	_, _, err := c.b.update(ctx, linePrefix+key, func(r *record) (bool, error) {
		if find(r.Places, l.Owner) == nil {
			r.Places = append(r.Places, l)
		}
		find(r.Places, l.Owner).Beat = r.Count
		return true, nil
	})
	return err
}

func (c cellLine) leave(ctx context.Context, key string, owners ...string) error {
	_, _, err := c.b.update(ctx, linePrefix+key, func(r *record) (bool, error) {
		n := len(r.Places)
		r.Places = without(r.Places, owners...)
		return len(r.Places) < n, nil
	})
	return err
}

func (c cellLine) places(ctx context.Context, key string, _ int) ([]lease, bool, error) {
	r, err := c.b.load(ctx, linePrefix+key)
	return r.Places, true, err
}

// ticketLine keeps a ticket for each waiter. A ticket has no beat: that of a dead waiter goes
// when its turn has passed.
type ticketLine struct {
	b *backend
	t Tickets
}

func (c ticketLine) join(ctx context.Context, key string, l lease) error {
	value, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return c.b.ask(ctx, "join the queue", func(ctx context.Context) error { return c.t.PutTicket(ctx, key, l.Owner, value) })
}

func (c ticketLine) leave(ctx context.Context, key string, owners ...string) error {
	return c.b.ask(ctx, "leave the queue", func(ctx context.Context) (err error) {
		for _, owner := range owners {
			err = errors.Join(err, c.t.RemoveTicket(ctx, key, owner))
		}
		return err
	})
}

func (c ticketLine) places(ctx context.Context, key string, n int) (first []lease, all bool, err error) {
	var values [][]byte
	err = c.b.ask(ctx, "read the queue", func(ctx context.Context) (err error) {
		values, err = c.t.OldestTickets(ctx, key, n)
		return err
	})
	for _, v := range values {
		var l lease
		if json.Unmarshal(v, &l) == nil && l.Owner != "" {
			first = append(first, l)
		}
	}
	return first, len(values) < n, err
}
