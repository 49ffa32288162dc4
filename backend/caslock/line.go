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

	// stands is how long a place stands without its owner.
	stands(ttl time.Duration) time.Duration
}

// linePrefix begins the keys of cells that have lines. The keys of locks have no such
// character.
const linePrefix = "\x00"

// cellLine keeps the line of each key in one cell. A place ends as leases do.
type cellLine struct{ b *backend }

func (c cellLine) stands(ttl time.Duration) time.Duration {
	return min(max(ttl, time.Second), time.Minute)
}

func (c cellLine) join(ctx context.Context, key string, l lease) error {
	_, err := c.b.update(ctx, linePrefix+key, "", true, func(r *record) (bool, error) {
		if i := find(r.Places, l.Owner); i >= 0 {
			r.Places[i].TTL, r.Places[i].Beat = l.TTL, r.Count
			return true, nil
		}
		l.Beat = r.Count
		r.Places = append(r.Places, l)
		return true, nil
	})
	return err
}

func (c cellLine) leave(ctx context.Context, key string, owners ...string) error {
	_, err := c.b.update(ctx, linePrefix+key, "", true, func(r *record) (bool, error) {
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

func (c ticketLine) stands(time.Duration) time.Duration { return time.Minute }

func (c ticketLine) join(ctx context.Context, key string, l lease) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	value, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return c.b.fail("join the queue", c.t.PutTicket(ctx, key, l.Owner, value))
}

func (c ticketLine) leave(ctx context.Context, key string, owners ...string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for _, owner := range owners {
		err = errors.Join(err, c.t.RemoveTicket(ctx, key, owner))
	}
	return c.b.fail("leave the queue", err)
}

func (c ticketLine) places(ctx context.Context, key string, n int) (first []lease, all bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	values, err := c.t.OldestTickets(ctx, key, n)
	for _, v := range values {
		var l lease
		if json.Unmarshal(v, &l) == nil && l.Owner != "" {
			first = append(first, l)
		}
	}
	return first, len(values) < n, c.b.fail("read the queue", err)
}

// lease returns what is written of the owner as a holder or a waiter.
func (b *backend) lease(r *driver.Request) lease {
	return lease{
		Owner: r.Owner, TTL: millis(b.line.stands(r.TTL)), Since: time.Now().UnixMilli(),
		Shared: r.Mode == driver.Shared, Permits: r.Permits, Reply: b.topic,
	}
}
