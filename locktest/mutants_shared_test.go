package locktest_test

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var sharedMutants = []mutant{
	{"readers-exclude-each-other", []string{"shared/admits", "shared/next-readers-together"}, func(s *spoiled) {
		s.ask(func(r *driver.Request) { r.Mode = driver.Exclusive })
	}},
	{"everybody-reads", []string{"shared/admits", "shared/writer-waits-for-all", "shared/later-readers-wait", "shared/crowd"}, func(s *spoiled) {
		s.ask(func(r *driver.Request) {
			if r.Permits == 0 {
				r.Mode = driver.Shared
			}
		})
	}},
	{"forgets-the-mode", []string{"shared/admits"}, func(s *spoiled) {
		s.answer(func(_ driver.Request, g *driver.Grant, err error) error {
			g.Mode = driver.Exclusive
			return err
		})
	}},
	{"releases-for-all", []string{"shared/release-of-one", "shared/writer-waits-for-all", "shared/admits", "semaphore/exactly-n"}, func(s *spoiled) {
		s.release = func(ctx context.Context, g driver.Grant) error {
			err := s.Backend.Release(ctx, g)
			if err == nil {
				s.Drop(g.Key)
			}
			return err
		}
	}},
	{"readers-overtake", []string{"shared/later-readers-wait"}, func(s *spoiled) {
		var b book
		s.answer(func(r driver.Request, g *driver.Grant, err error) error {
			if err == nil && r.Mode == driver.Shared {
				b.add(*g)
			}
			if err != nil && r.Mode == driver.Shared && len(b.owners(r.Key)) > 0 {
				*g = r.Grant()
				g.Token, g.LastToken, g.Sent = 1, 1, time.Now()
				return nil
			}
			return err
		})
	}},
	{"wakes-one-reader", []string{"shared/next-readers-together"}, func(s *spoiled) {
		s.acquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			mode := r.Mode
			r.Mode = driver.Exclusive
			g, err := s.Backend.Acquire(ctx, r)
			g.Mode = mode
			return g, err
		}
	}},
	{"crashed-readers-stay", []string{"shared/each-its-own-lease", "shared/crashed-with-waiters"}, func(s *spoiled) {
		s.ask(func(r *driver.Request) {
			if r.Mode == driver.Shared {
				r.TTL *= 1000
			}
		})
	}},
	{"one-lease-for-all-readers", []string{"shared/each-its-own-lease"}, func(s *spoiled) {
		var b book
		s.answer(func(r driver.Request, g *driver.Grant, err error) error {
			for _, other := range b.owners(r.Key) {
				other.TTL = r.TTL
				driver.RenewAll(context.Background(), s.Backend, []driver.Grant{other})
			}
			if err == nil && r.Mode == driver.Shared {
				b.add(*g)
			}
			return err
		})
	}},
	{"renews-for-all", []string{"shared/renewal-of-one"}, func(s *spoiled) {
		var b book
		s.answer(func(_ driver.Request, g *driver.Grant, err error) error {
			if err == nil {
				b.add(*g)
			}
			return err
		})
		s.results(func(ctx context.Context, grants []driver.Grant) []driver.RenewResult {
			for _, g := range grants {
				driver.RenewAll(ctx, s.Backend, b.owners(g.Key))
			}
			return driver.RenewAll(ctx, s.Backend, grants)
		})
	}},
	{"counts-the-same-owner-twice", []string{"idempotence/same-owner-again"}, func(s *spoiled) {
		s.tryAcquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			owner := r.Owner
			if s.holds(ctx, r.Grant()) {
				r.Owner += "'"
			}
			g, err := s.Backend.TryAcquire(ctx, r)
			g.Owner = owner
			return g, err
		}
	}},
	{"one-token-for-all-readers", []string{"shared/tokens-rise"}, func(s *spoiled) {
		var last driver.Grant
		s.answer(func(r driver.Request, g *driver.Grant, err error) error {
			if err == nil && last.Mode == g.Mode && last.Permits == g.Permits && (r.Mode == driver.Shared || r.Permits > 0) {
				g.Token, g.LastToken = last.Token, last.Token
			}
			last = *g
			return err
		})
	}},
}

var semaphoreMutants = []mutant{
	{"counts-by-the-first-holder", []string{"shared/admits"}, func(s *spoiled) {
		first := make(map[string]int)
		s.ask(func(r *driver.Request) {
			if r.Permits > 0 {
				if first[r.Key] == 0 {
					first[r.Key] = r.Permits
				}
				r.Permits = first[r.Key]
			}
		})
	}},
	{"one-permit-too-many", []string{"semaphore/exactly-n", "semaphore/one-more-waits", "semaphore/crowd"}, func(s *spoiled) {
		s.ask(func(r *driver.Request) {
			if r.Permits > 0 {
				r.Permits++
			}
		})
	}},
	{"crashed-permits-stay", []string{"semaphore/expired-permit", "shared/crashed-with-waiters"}, func(s *spoiled) {
		s.ask(func(r *driver.Request) {
			if r.Permits > 0 {
				r.TTL *= 1000
			}
		})
	}},
	{"exclusive-is-a-permit", []string{"shared/admits"}, func(s *spoiled) {
		s.ask(func(r *driver.Request) {
			if r.Permits == 0 {
				r.Permits = 1000
			}
		})
	}},
}
