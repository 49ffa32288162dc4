package locktest_test

import (
	"context"
	"slices"
	"sync"

	"github.com/distlock-go/distlock/driver"
)

type (
	acquireFunc func(ctx context.Context, r driver.Request) (driver.Grant, error)

	renewFunc   func(ctx context.Context, grants []driver.Grant, report func(int, error))
	releaseFunc func(ctx context.Context, g driver.Grant) error
	revokeFunc  func(ctx context.Context, key string) (bool, error)
	turnFunc    func(ctx context.Context, r driver.Request) <-chan driver.Grant
	inspectFunc func(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error)
	extendFunc  func(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error)
)

func (s *spoiled) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := s.tryAcquire(ctx, r)
	if err == nil {
		s.granted.add(g)
	}
	return g, err
}

func (s *spoiled) Enqueue(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return s.enqueue(ctx, r)
}

// Turn sends no grants: a waiter makes an attempt for each, so that it meets what is spoiled.
func (s *spoiled) Turn(ctx context.Context, r driver.Request) <-chan driver.Grant {
	turn := s.turn(ctx, r)
	again := make(chan driver.Grant)
	go func() {
		defer close(again)
		select {
		case <-turn:
		case <-ctx.Done():
		}
	}()
	return again
}

func (s *spoiled) Features() driver.Features {
	f := s.Backend.Features()
	f.MaxTTL = s.limit
	if s.features != nil {
		s.features(&f)
	}
	return f
}

func (s *spoiled) Renew(ctx context.Context, grants []driver.Grant, report func(int, error)) {
	s.renew(ctx, grants, report)
}

// results makes Renew report these results.
func (s *spoiled) results(renew func(ctx context.Context, grants []driver.Grant) []error) {
	s.renew = func(ctx context.Context, grants []driver.Grant, report func(int, error)) {
		for i, r := range renew(ctx, grants) {
			report(i, r)
		}
	}
}

func (s *spoiled) Release(ctx context.Context, g driver.Grant) error { return s.release(ctx, g) }

func (s *spoiled) Revoke(ctx context.Context, key string) (bool, error) { return s.revoke(ctx, key) }

func (s *spoiled) Inspect(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
	return s.inspect(ctx, prefix, limit)
}

// show changes what Inspect lists.
func (s *spoiled) show(change func(info *driver.KeyInfo)) {
	s.inspect = func(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
		infos, err := s.Backend.Inspect(ctx, prefix, limit)
		for i := range infos {
			change(&infos[i])
		}
		return infos, err
	}
}

// ask changes the requests of TryAcquire and Enqueue. The grants have the fields of the
// original requests.
func (s *spoiled) ask(change func(r *driver.Request)) {
	s.acquireAs(func(ctx context.Context, r driver.Request, honest acquireFunc) (driver.Grant, error) {
		asked := r
		change(&r)
		g, err := honest(ctx, r)
		if err == nil {
			g.Key, g.Owner, g.TTL, g.Mode, g.Permits = asked.Key, asked.Owner, asked.TTL, asked.Mode, asked.Permits
		}
		return g, err
	})
}

// answer changes the results of TryAcquire and Enqueue.
func (s *spoiled) answer(change func(r driver.Request, g *driver.Grant, err error) error) {
	s.acquireAs(func(ctx context.Context, r driver.Request, honest acquireFunc) (driver.Grant, error) {
		g, err := honest(ctx, r)
		err = change(r, &g, err)
		return g, err
	})
}

// grant changes the grants of TryAcquire and Enqueue.
func (s *spoiled) grant(change func(g *driver.Grant)) {
	s.answer(func(_ driver.Request, g *driver.Grant, err error) error {
		change(g)
		return err
	})
}

// refuse changes the errors of TryAcquire and Enqueue.
func (s *spoiled) refuse(with func(err error) error) {
	s.answer(func(_ driver.Request, _ *driver.Grant, err error) error {
		if err != nil {
			err = with(err)
		}
		return err
	})
}

func (s *spoiled) acquireAs(how func(context.Context, driver.Request, acquireFunc) (driver.Grant, error)) {
	with := func(honest acquireFunc) acquireFunc {
		return func(ctx context.Context, r driver.Request) (driver.Grant, error) { return how(ctx, r, honest) }
	}
	s.tryAcquire, s.enqueue = with(s.Backend.TryAcquire), with(s.Backend.Enqueue)
}

// holds reports whether the owner has the key. It also renews the lease.
func (s *spoiled) holds(ctx context.Context, g driver.Grant) bool {
	return driver.RenewAll(ctx, s.Backend, []driver.Grant{g})[0] == nil
}

// book remembers grants.
type book struct {
	mu     sync.Mutex
	grants []driver.Grant
}

func (b *book) add(g driver.Grant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.grants = append(b.grants, g)
}

// of returns the grants of a key, of one owner or, if owner is empty, of all.
func (b *book) of(key, owner string) []driver.Grant {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.grants), func(g driver.Grant) bool {
		return g.Key != key || owner != "" && g.Owner != owner
	})
}
