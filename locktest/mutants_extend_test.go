package locktest_test

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// extending is a spoiled backend that is an Extender.
type extending struct{ *spoiled }

func (p extending) Extend(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
	return p.extend(ctx, g, tokens)
}

// extends makes s an Extender that keeps the contract.
func (s *spoiled) extends() {
	s.extend = testkit.Wrap(s.Backend).Only(testkit.Queuing | testkit.Extending).(driver.Extender).Extend
	s.self = extending{s}
	s.peer = s.self
}

// extendsAnd makes s an Extender that does more after each Extend.
func (s *spoiled) extendsAnd(do func(ctx context.Context, g driver.Grant, more *driver.Grant, err error)) {
	s.extends()
	honest := s.extend
	s.extend = func(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
		more, err := honest(ctx, g, tokens)
		do(ctx, g, &more, err)
		return more, err
	}
}

var extendMutants = []mutant{
	{"extends-with-the-same-tokens", []string{"extend/larger-tokens"}, func(s *spoiled) {
		s.extendsAnd(func(_ context.Context, g driver.Grant, more *driver.Grant, _ error) {
			more.Token, more.LastToken = g.Token, g.LastToken
		})
	}},
	{"extends-for-too-long", []string{"renewal/extends"}, func(s *spoiled) {
		s.extendsAnd(func(ctx context.Context, g driver.Grant, _ *driver.Grant, _ error) {
			g.TTL *= 10
			s.holds(ctx, g) // which renews
		})
	}},
	{"late-extend-shortens", []string{"late/shortens-nothing"}, func(s *spoiled) {
		s.extendsAnd(func(ctx context.Context, g driver.Grant, _ *driver.Grant, err error) {
			if g.Retain = true; err == nil {
				driver.RenewAll(ctx, s.Backend, []driver.Grant{g})
			}
		})
	}},
	{"extends-and-refuses", []string{"extend/refusal-changes-nothing"}, func(s *spoiled) {
		s.extendsAnd(func(ctx context.Context, g driver.Grant, _ *driver.Grant, _ error) { s.holds(ctx, g) })
	}},
	{"creates-what-it-extends", []string{"renewal/never-recreates", "renewal/never-revives"}, func(s *spoiled) {
		s.extendsAnd(func(ctx context.Context, g driver.Grant, _ *driver.Grant, err error) {
			if err != nil { // and says that it was lost
				_, _ = s.Backend.TryAcquire(ctx, driver.Request{Key: g.Key, Owner: g.Owner, TTL: g.TTL})
			}
		})
	}},
	{"does-not-see-waiters", []string{"extend/others-wait"}, func(s *spoiled) {
		s.extends()
		s.extend = func(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
			r := driver.Request{Key: rand.Text(), Owner: g.Owner, TTL: g.TTL, Tokens: tokens}
			more, err := s.Backend.TryAcquire(ctx, r) // for its tokens
			more.Key = g.Key
			return more, errors.Join(err, driver.RenewAll(ctx, s.Backend, []driver.Grant{g})[0])
		}
	}},
	{"extends-for-anybody-and-without-time", []string{"renewal/extends", "renewal/never-recreates", "renewal/never-revives"}, func(s *spoiled) {
		s.extends()
		s.extend = func(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
			r := driver.Request{Key: rand.Text(), Owner: g.Owner, TTL: g.TTL, Tokens: tokens}
			more, err := s.Backend.TryAcquire(ctx, r) // for its tokens
			more.Key = g.Key
			return more, err
		}
	}},
	{"extends-under-another-owner", []string{"extend/larger-tokens"}, func(s *spoiled) {
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
