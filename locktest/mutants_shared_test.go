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
		s.grant(func(g *driver.Grant) { g.Mode = driver.Exclusive })
	}},
	{"releases-for-all", []string{"shared/release-of-one", "shared/writer-waits-for-all", "shared/admits"}, func(s *spoiled) {
		s.release = func(ctx context.Context, g driver.Grant) error {
			err := s.Backend.Release(ctx, g)
			if err == nil {
				s.Drop(g.Key)
			}
			return err
		}
	}},
	{"readers-overtake", []string{"shared/later-readers-wait"}, func(s *spoiled) {
		s.answer(func(r driver.Request, g *driver.Grant, err error) error {
			if err == nil || r.Mode != driver.Shared || len(s.granted.of(r.Key, "")) == 0 {
				return err
			}
			*g = r.Grant()
			g.Token, g.LastToken, g.Sent = 1, 1, time.Now()
			return nil
		})
	}},
	{"crashed-sharers-stay", []string{"shared/each-its-own-lease", "shared/crashed-with-waiters", "semaphore/expired-permit"}, func(s *spoiled) {
		s.ask(func(r *driver.Request) {
			if r.Sharing() != (driver.Sharing{}) {
				r.TTL *= 1000
			}
		})
	}},
	{"renews-for-all", []string{"shared/renewal-of-one"}, func(s *spoiled) {
		s.renewals(func(grants []driver.Grant, _ []error) {
			for _, g := range grants {
				driver.RenewAll(context.Background(), s.Backend, s.granted.of(g.Key, ""))
			}
		})
	}},
	{"counts-the-same-owner-twice", []string{"idempotence/same-owner-again"}, func(s *spoiled) {
		s.ask(func(r *driver.Request) {
			if r.Permits > 0 && s.holds(context.Background(), r.Grant()) {
				r.Owner += "'"
			}
		})
	}},
	{"one-token-for-all-readers", []string{"shared/tokens-rise"}, func(s *spoiled) {
		s.answer(func(r driver.Request, g *driver.Grant, err error) error {
			if all := s.granted.of(r.Key, ""); r.Mode == driver.Shared && len(all) > 0 {
				last := all[len(all)-1]
				g.Token, g.LastToken = last.Token, last.Token
			}
			return err
		})
	}},
	{"counts-by-the-first-holder", []string{"shared/admits"}, func(s *spoiled) {
		s.ask(func(r *driver.Request) {
			if all := s.granted.of(r.Key, ""); r.Permits > 0 && len(all) > 0 {
				r.Permits = all[0].Permits
			}
		})
	}},
	{"one-permit-too-many", []string{"shared/admits", "semaphore/one-more-waits", "semaphore/crowd"}, func(s *spoiled) {
		s.ask(func(r *driver.Request) {
			if r.Permits > 0 {
				r.Permits++
			}
		})
	}},
}
