package distlock

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/backoff"
)

// part is what an acquisition has in hand as one of a set. The zero value is that
// of an acquisition by itself.
type part struct {
	left   *backoff.Budget // of the wait budget of the set
	since  time.Time       // when the set was asked for, if its keys were got together
	grants *readyGrants
}

// readyGrants are keys that were taken together, with their gates passed, and that
// no lease has yet.
type readyGrants struct {
	locker *Locker
	byKey  map[string]driver.Grant
}

// together tries to take all keys in one step of the store, and without waiting:
// that works if nobody else has or wants one of them, here or elsewhere. If it does
// not, each has to be asked for by itself, and who keeps it will be known then.
func (l *Locker) together(ctx context.Context, keys []string, o *Opts, b *backoff.Budget) part {
	if l.all == nil || len(keys) < 2 || o.Mode != Exclusive || o.Permits > 0 || ctx.Err() != nil {
		return part{}
	}
	if innermost, ok := FromContext(ctx); ok {
		for _, key := range keys {
			if innermost.find(l, key) != nil {
				return part{}
			}
		}
	}
	if !l.life.enter() {
		return part{}
	}
	since := time.Now()
	grants := l.askForAll(ctx, keys, o, b)
	if grants == nil {
		l.life.exit(nil)
		return part{}
	}
	r := &readyGrants{locker: l, byKey: make(map[string]driver.Grant, len(grants))}
	for _, g := range grants {
		r.byKey[g.Key] = g
	}
	return part{since: since, grants: r}
}

// askForAll passes all gates and asks the store once. It returns nothing, with the
// gates passed on, if one is not to be had.
func (l *Locker) askForAll(ctx context.Context, keys []string, o *Opts, b *backoff.Budget) (grants []driver.Grant) {
	passed := 0
	defer func() { // also if the backend panics
		if grants == nil {
			for _, key := range keys[:passed] {
				l.queue.Exit(key, false)
			}
		}
	}()
	c := o.class()
	for _, key := range keys {
		// Who cannot wait and is not refused is alone inside.
		if _, _, err := l.queue.Enter(key, c, 0); err != nil {
			return nil
		}
		passed++
	}
	rs := make([]driver.Request, len(keys))
	for i, key := range keys {
		rs[i] = l.request(key, o)
	}
	asking, limit := within(ctx, b)
	defer limit.end()
	granted, err := l.all.TryAcquireAll(asking, rs)
	if err == nil {
		for _, g := range granted {
			if err = accept(ctx, g); err != nil {
				break
			}
		}
	}
	switch {
	case err == nil:
		return granted
	case !errors.Is(err, ErrNotAcquired) && !errors.Is(err, errors.ErrUnsupported):
		for i := range rs {
			l.releaseInBackground(rs[i].Grant())
		}
	}
	return nil
}

// take takes out the grant of key, or nil if there is none.
func (r *readyGrants) take(key string) *driver.Grant {
	if r == nil {
		return nil
	}
	g, ok := r.byKey[key]
	if !ok {
		return nil
	}
	delete(r.byKey, key)
	return &g
}

// end gives back what was not taken.
func (p part) end() {
	r := p.grants
	if r == nil {
		return
	}
	for key, g := range r.byKey {
		r.locker.releaseInBackground(g)
		r.locker.queue.Exit(key, false)
	}
	r.locker.life.exit(nil)
}
