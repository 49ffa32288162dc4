package locktest_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"

	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
)

// extending is a spoiled backend that is an Extender.
type extending struct{ *spoiled }

func (p extending) Extend(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
	return p.extend(ctx, g, tokens)
}

// places knows the waiters of a memlock, which does not tell them.
type places struct {
	mu     sync.Mutex
	owners map[[2]string]bool
}

func (p *places) set(key, owner string, waits bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if waits {
		p.owners[[2]string{key, owner}] = true
	} else {
		delete(p.owners, [2]string{key, owner})
	}
}

func (p *places) taken(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.owners {
		if c[0] == key {
			return true
		}
	}
	return false
}

// extends makes s an Extender that keeps the contract.
func (s *spoiled) extends() *places {
	p := &places{owners: make(map[[2]string]bool)}
	s.acquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
		p.set(r.Key, r.Owner, true)
		g, err := s.Backend.Acquire(ctx, r)
		if err == nil {
			p.set(r.Key, r.Owner, false)
		}
		return g, err
	}
	s.release = func(ctx context.Context, g driver.Grant) error {
		p.set(g.Key, g.Owner, false)
		return s.Backend.Release(ctx, g)
	}
	s.extend = func(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
		switch {
		case p.taken(g.Key):
			return driver.Grant{}, fmt.Errorf("others wait: %w", driver.ErrNotAcquired)
		case !s.holds(ctx, g):
			return driver.Grant{}, driver.ErrLost
		}
		return mint(ctx, s.Backend, g, tokens)
	}
	s.peer = extending{s}
	return p
}

// mint returns g with more tokens. The tokens of memlock count over all keys.
func mint(ctx context.Context, b *memlock.Backend, g driver.Grant, tokens int) (driver.Grant, error) {
	r := driver.Request{Key: rand.Text(), Owner: g.Owner, TTL: g.TTL, Tokens: tokens}
	more, err := b.TryAcquire(ctx, r)
	if err != nil {
		return driver.Grant{}, err
	}
	g.Token, g.LastToken, g.Sent = more.Token, more.LastToken, more.Sent
	return g, b.Release(ctx, more)
}

// TestRunOnExtender checks that the suite passes on an Extender that keeps the contract.
func TestRunOnExtender(t *testing.T) {
	runOn(t, &mutant{spoil: func(s *spoiled) { s.extends() }})
}

var extendMutants = []mutant{
	{"extends-with-the-same-tokens", []string{"extend/larger-tokens"}, func(s *spoiled) {
		s.extends()
		honest := s.extend
		s.extend = func(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
			more, err := honest(ctx, g, tokens)
			more.Token, more.LastToken = g.Token, g.LastToken
			return more, err
		}
	}},
	{"extends-without-time", []string{"extend/extends"}, func(s *spoiled) {
		s.extends()
		s.extend = func(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
			return mint(ctx, s.Backend, g, tokens)
		}
	}},
	{"extends-for-too-long", []string{"extend/extends"}, func(s *spoiled) {
		s.extends()
		honest := s.extend
		s.extend = func(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
			ttl := g.TTL
			g.TTL *= 10
			more, err := honest(ctx, g, tokens)
			more.TTL = ttl
			return more, err
		}
	}},
	{"late-extend-shortens", []string{"late/shortens-nothing"}, func(s *spoiled) {
		s.extends()
		honest := s.extend
		s.extend = func(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
			more, err := honest(ctx, g, tokens)
			s.shorten(g, err)
			return more, err
		}
	}},
	{"extends-while-others-wait", []string{"extend/others-wait", "extend/refusal-changes-nothing"}, func(s *spoiled) {
		s.extends()
		s.extend = func(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
			if !s.holds(ctx, g) {
				return driver.Grant{}, driver.ErrLost
			}
			return mint(ctx, s.Backend, g, tokens)
		}
	}},
	{"does-not-see-waiters-elsewhere", []string{"extend/others-wait"}, func(s *spoiled) {
		s.extends()
		s.peer = s.Backend
	}},
	{"extends-and-refuses", []string{"extend/refusal-changes-nothing"}, func(s *spoiled) {
		s.extends()
		honest := s.extend
		s.extend = func(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
			s.holds(ctx, g) // which renews
			return honest(ctx, g, tokens)
		}
	}},
	{"creates-what-it-extends", []string{"extend/released", "extend/after-expiry"}, func(s *spoiled) {
		s.extends()
		honest := s.extend
		s.extend = func(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
			more, err := honest(ctx, g, tokens)
			if err != nil { // and says that it was lost
				_, _ = s.Backend.TryAcquire(ctx, driver.Request{Key: g.Key, Owner: g.Owner, TTL: g.TTL})
			}
			return more, err
		}
	}},
	{"extends-for-anybody", []string{"extend/released", "extend/after-expiry"}, func(s *spoiled) {
		s.extends()
		s.extend = func(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
			return mint(ctx, s.Backend, g, tokens)
		}
	}},
	{"extends-under-another-owner", []string{"extend/release-after"}, func(s *spoiled) {
		s.extends()
		s.extend = func(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
			s.Drop(g.Key)
			r := driver.Request{Key: g.Key, Owner: g.Owner + "'", TTL: g.TTL, Tokens: tokens}
			more, err := s.Backend.TryAcquire(ctx, r)
			more.Owner = g.Owner
			return more, err
		}
	}},
}
