package testkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var (
	_ driver.Backend   = (*Store)(nil)
	_ driver.Queuer    = (*Store)(nil)
	_ driver.Inspector = (*Store)(nil)
	_ driver.Revoker   = (*Store)(nil)
	_ driver.Pinger    = (*Store)(nil)
)

// Features implements [driver.Backend].
func (s *Store) Features() driver.Features {
	s.mu.Lock()
	f := s.features
	s.mu.Unlock()
	if f != nil {
		return *f
	}
	return s.Backend.Features()
}

// attempt passes an attempt on.
func (s *Store) attempt(ctx context.Context, op Op, r driver.Request, pass func(context.Context, driver.Request) (driver.Grant, error)) (driver.Grant, error) {
	c := &Call{Op: op, Key: r.Key, Owner: r.Owner, At: time.Now(), Request: r}
	if err := s.enter(ctx, c); err != nil {
		return driver.Grant{}, err
	}
	g, err := pass(ctx, c.Request)
	c.Grants = []driver.Grant{g}
	if err := s.leave(ctx, c, err); err != nil {
		return driver.Grant{}, err
	}
	return c.Grants[0], nil
}

// TryAcquire implements [driver.Backend].
func (s *Store) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return s.attempt(ctx, Try, r, s.Backend.TryAcquire)
}

// Enqueue implements [driver.Queuer].
func (s *Store) Enqueue(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return s.attempt(ctx, Enqueue, r, s.Backend.(driver.Queuer).Enqueue)
}

// Turn implements [driver.Waker]. The hooks see a grant that comes through the channel as the
// result of an Enqueue. With an error, it does not arrive.
func (s *Store) Turn(ctx context.Context, r driver.Request) <-chan driver.Grant {
	_ = s.enter(ctx, keyed(Turn, r.Key))
	in, out := s.Backend.(driver.Waker).Turn(ctx, r), make(chan driver.Grant, 1)
	go func() {
		for {
			select {
			case g, open := <-in:
				if !open {
					close(out)
					return
				}
				c := &Call{Op: Enqueue, Key: r.Key, Owner: r.Owner, At: time.Now(), Request: r, Grants: []driver.Grant{g}}
				if g.Owner == "" || s.leave(ctx, c, nil) == nil {
					out <- c.Grants[0]
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// Renew implements [driver.Backend]. If a hook returns an error, each grant is reported
// with it: as lost if it matches [driver.ErrForeign], otherwise as unknown, and not at all
// with [ErrSilent].
func (s *Store) Renew(ctx context.Context, grants []driver.Grant, report func(int, error)) {
	c := about(Renew, grants...)
	err := s.enter(ctx, c)
	if err == nil {
		c.Results = driver.RenewAll(ctx, s.Backend, c.Grants)
		if err = s.leave(ctx, c, nil); err == nil {
			for i, r := range c.Results {
				report(i, r)
			}
			return
		}
	}
	if errors.Is(err, ErrSilent) {
		return
	}
	if errors.Is(err, driver.ErrForeign) {
		err = fmt.Errorf("%w: %w", driver.ErrLost, err)
	}
	for i := range grants {
		report(i, err)
	}
}

// Release implements [driver.Backend].
func (s *Store) Release(ctx context.Context, g driver.Grant) error {
	c := about(Release, g)
	if err := s.enter(ctx, c); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := s.leave(ctx, c, s.Backend.Release(ctx, c.Grants[0]))
	s.WakeAll()
	return err
}

// Inspect implements [driver.Inspector].
func (s *Store) Inspect(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
	c := keyed(Inspect, prefix)
	if err := s.enter(ctx, c); err != nil {
		return nil, err
	}
	var err error
	c.Found, err = s.Backend.(driver.Inspector).Inspect(ctx, prefix, limit)
	err = s.leave(ctx, c, err)
	return c.Found, err
}

// decide passes on an operator's decision about a key.
func (s *Store) decide(ctx context.Context, op Op, key string, pass func(context.Context, string) (bool, error)) (bool, error) {
	c := keyed(op, key)
	if err := s.enter(ctx, c); err != nil {
		return false, err
	}
	held, err := pass(ctx, key)
	if err := s.leave(ctx, c, err); err != nil {
		return false, err
	}
	return held, nil
}

// ForceRelease implements [driver.Inspector].
func (s *Store) ForceRelease(ctx context.Context, key string) (bool, error) {
	return s.decide(ctx, Force, key, s.Backend.(driver.Inspector).ForceRelease)
}

// Revoke implements [driver.Revoker].
func (s *Store) Revoke(ctx context.Context, key string) (bool, error) {
	return s.decide(ctx, Revoke, key, s.Backend.(driver.Revoker).Revoke)
}

// Revoked implements [driver.Revoker].
func (s *Store) Revoked(ctx context.Context, g driver.Grant) <-chan struct{} {
	return s.Backend.(driver.Revoker).Revoked(ctx, g)
}

// Ping implements [driver.Pinger].
func (s *Store) Ping(ctx context.Context) error {
	if err := s.enter(ctx, keyed(Ping, "")); err != nil {
		return err
	}
	if p, ok := s.Backend.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

// Close closes the store that does the work, if it can be closed. It is recorded, but calls
// no hook.
func (s *Store) Close() error {
	s.record(keyed(Close, ""))
	if c, ok := s.Backend.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
