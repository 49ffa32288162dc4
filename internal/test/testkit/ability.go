package testkit

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"maps"

	"github.com/distlock-go/distlock/driver"
)

// Ability is an optional ability of a backend, and a set of them.
type Ability int

// The abilities of a view that [Store.Only] makes.
const (
	Queuing   Ability = 1 << iota // driver.Queuer
	Extending                     // driver.Extender
	Waking                        // driver.Waker
)

// Only returns a view of the store that has these abilities and no others, except that each
// can be closed. The abilities beside Queuing are made here, so the store need not have
// them.
func (s *Store) Only(abilities Ability) driver.Backend {
	p := plain{s, s}
	switch abilities {
	case 0:
		return p
	case Queuing:
		return struct {
			plain
			driver.Queuer
		}{p, s}
	case Queuing | Extending:
		return struct {
			plain
			driver.Queuer
			extending
		}{p, s, extending{s}}
	case Waking:
		return struct {
			plain
			waking
		}{p, waking{s}}
	}
	panic(fmt.Sprintf("testkit: no view with abilities %#b; add a case", abilities))
}

// plain hides the optional abilities of a store.
type plain struct {
	driver.Backend
	io.Closer
}

type extending struct{ s *Store }

// Extend implements [driver.Extender] for a store in memory, which has one counter of
// tokens for all keys.
func (e extending) Extend(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
	c := about(Extend, g)
	if err := e.s.enter(ctx, c); err != nil {
		return driver.Grant{}, err
	}
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, err
	}
	infos, err := e.s.Memory().Inspect(ctx, g.Key, 1)
	if err != nil {
		return driver.Grant{}, err
	}
	if len(infos) > 0 && infos[0].Key == g.Key && infos[0].Waiting > 0 {
		return driver.Grant{}, driver.ErrNotAcquired
	}
	if driver.RenewAll(ctx, e.s.Backend, c.Grants)[0] != nil {
		return driver.Grant{}, driver.ErrLost
	}
	more, err := e.s.Backend.TryAcquire(ctx, driver.Request{Key: rand.Text(), Owner: g.Owner, TTL: g.TTL, Tokens: tokens})
	if err != nil {
		return driver.Grant{}, err
	}
	if err := e.s.Backend.Release(ctx, more); err != nil {
		return driver.Grant{}, err
	}
	g.Token, g.LastToken, g.Sent = more.Token, more.LastToken, more.Sent
	c.Grants = []driver.Grant{g}
	if err := e.s.leave(ctx, c, nil); err != nil {
		return driver.Grant{}, err
	}
	return c.Grants[0], nil
}

// waking tells waiters to look after each release.
type waking struct{ s *Store }

// Turn implements [driver.Waker]. Each channel is for all keys. A hook's error has no effect.
func (w waking) Turn(ctx context.Context, r driver.Request) <-chan driver.Grant {
	_ = w.s.enter(ctx, keyed(Turn, r.Key))
	look := make(chan driver.Grant, 1)
	look <- driver.Grant{} // the watch works from now on
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.watches[look] = ctx //nolint:fatcontext // a set of contexts, none of which is derived from another
	return look
}

// WakeAll tells all waiters to look.
func (s *Store) WakeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	for look := range s.watches {
		select {
		case look <- driver.Grant{}:
		default:
		}
	}
}

// Watches returns the number of watches that have not ended.
func (s *Store) Watches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	return len(s.watches)
}

// forget deletes the watches that have ended.
func (s *Store) forget() {
	maps.DeleteFunc(s.watches, func(_ chan driver.Grant, ctx context.Context) bool { return ctx.Err() != nil })
}
