package locktest_test

import (
	"context"
	"sync"

	"github.com/distlock-go/distlock"
)

type (
	acquireFunc    func(ctx context.Context, r distlock.Request) (distlock.Grant, error)
	acquireAllFunc func(ctx context.Context, rs []distlock.Request) ([]distlock.Grant, error)

	renewFunc   func(ctx context.Context, grants []distlock.Grant) []distlock.RenewResult
	releaseFunc func(ctx context.Context, g distlock.Grant) error
	prolongFunc func(ctx context.Context, g distlock.Grant, tokens int) (distlock.Grant, error)
)

func (s *spoiled) TryAcquire(ctx context.Context, r distlock.Request) (distlock.Grant, error) {
	return s.tryAcquire(ctx, r)
}

func (s *spoiled) Acquire(ctx context.Context, r distlock.Request) (distlock.Grant, error) {
	return s.acquire(ctx, r)
}

func (s *spoiled) TryAcquireAll(ctx context.Context, rs []distlock.Request) ([]distlock.Grant, error) {
	return s.acquireAll(ctx, rs)
}

func (s *spoiled) Renew(ctx context.Context, grants []distlock.Grant) []distlock.RenewResult {
	return s.renew(ctx, grants)
}

func (s *spoiled) Release(ctx context.Context, g distlock.Grant) error { return s.release(ctx, g) }

// ask changes what both ways of acquiring are asked for. The grant still says
// what the caller asked for.
func (s *spoiled) ask(change func(r *distlock.Request)) {
	wrap := func(honest acquireFunc) acquireFunc {
		return func(ctx context.Context, r distlock.Request) (distlock.Grant, error) {
			asked := r
			change(&r)
			g, err := honest(ctx, r)
			if err == nil {
				g.Key, g.Owner, g.TTL, g.Mode, g.Permits = asked.Key, asked.Owner, asked.TTL, asked.Mode, asked.Permits
			}
			return g, err
		}
	}
	s.tryAcquire, s.acquire = wrap(s.Backend.TryAcquire), wrap(s.Backend.Acquire)
}

// answer changes what both ways of acquiring answer.
func (s *spoiled) answer(change func(r distlock.Request, g *distlock.Grant, err error) error) {
	wrap := func(honest acquireFunc) acquireFunc {
		return func(ctx context.Context, r distlock.Request) (distlock.Grant, error) {
			g, err := honest(ctx, r)
			err = change(r, &g, err)
			return g, err
		}
	}
	s.tryAcquire, s.acquire = wrap(s.Backend.TryAcquire), wrap(s.Backend.Acquire)
}

// holds reports whether the owner has the key. It renews the lease on the way.
func (s *spoiled) holds(ctx context.Context, g distlock.Grant) bool {
	return s.Backend.Renew(ctx, []distlock.Grant{g})[0].Status == distlock.Renewed
}

// book remembers a grant for each key and owner.
type book struct {
	mu     sync.Mutex
	grants map[[2]string]distlock.Grant
}

func (b *book) add(g distlock.Grant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.grants == nil {
		b.grants = make(map[[2]string]distlock.Grant)
	}
	b.grants[[2]string{g.Key, g.Owner}] = g
}

func (b *book) get(key, owner string) (distlock.Grant, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g, ok := b.grants[[2]string{key, owner}]
	return g, ok
}

// owners returns who has ever had the key.
func (b *book) owners(key string) []distlock.Grant {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []distlock.Grant
	for _, g := range b.grants {
		if g.Key == key {
			all = append(all, g)
		}
	}
	return all
}
