package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

var mutants = slices.Concat(acquireMutants, leaseMutants, tokenMutants, renewMutants, releaseMutants, queueMutants,
	sharedMutants, extendMutants, wakeMutants, inspectMutants, revokeMutants)

var acquireMutants = []mutant{
	{"everyone-gets-it", []string{"exclusion/one-holder", "locker/crowd"}, func(s *spoiled) {
		var tokens atomic.Uint64
		s.answer(func(r driver.Request, g *driver.Grant, _ error) error {
			*g = r.Grant()
			g.Token = tokens.Add(1)
			g.LastToken, g.Sent = g.Token, time.Now()
			return nil
		})
		s.enqueue = s.tryAcquire // the honest one would wait for its turn
	}},
	{"says-only-held", []string{"exclusion/one-holder"}, func(s *spoiled) {
		s.refuse(func(error) error { return errors.New("held") })
	}},
	{"says-held-and-unavailable", []string{"exclusion/one-holder"}, func(s *spoiled) {
		s.refuse(func(err error) error { return fmt.Errorf("%w: %w", distlock.ErrUnavailable, err) })
	}},
	{"hints-at-the-whole-lease", []string{"exclusion/holder"}, func(s *spoiled) {
		s.refuse(func(error) error { return &driver.HeldError{RetryAfter: time.Minute} })
	}},
	{"takes-each-holder-for-its-own", []string{"exclusion/holder"}, func(s *spoiled) {
		s.refuse(func(error) error { return &driver.HeldError{Local: true} })
	}},
	{"passes-no-lease-on", []string{"handoff/once", "handoff/lease"}, func(s *spoiled) {
		s.ask(func(r *driver.Request) { r.From = "" })
	}},
	{"passes-a-lease-on-twice", []string{"handoff/once"}, func(s *spoiled) {
		s.answer(func(r driver.Request, _ *driver.Grant, err error) error {
			if r.From != "" {
				return nil
			}
			return err
		})
	}},
	{"tries-and-waits", []string{"exclusion/one-holder"}, func(s *spoiled) {
		s.tryAcquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			return testkit.Await(ctx, s.Backend, r, testkit.Looks{Every: time.Second, Attempts: 2})
		}
	}},
	{"folds-case", []string{"exclusion/keys-are-apart"}, func(s *spoiled) {
		s.ask(func(r *driver.Request) { r.Key = strings.ToLower(r.Key) })
	}},
	{"store-of-its-own", []string{"exclusion/two-backends", "locker/crowd", "shared/admits"}, func(s *spoiled) {
		s.peer = memlock.New()
	}},
	{"forgets-when-it-was-sent", []string{"exclusion/one-holder"}, func(s *spoiled) {
		s.grant(func(g *driver.Grant) { g.Sent = time.Time{} })
	}},
	{"waits-for-itself", []string{"idempotence/same-owner-again"}, func(s *spoiled) {
		s.answer(func(r driver.Request, _ *driver.Grant, err error) error {
			if len(s.granted.of(r.Key, r.Owner)) > 0 {
				err = &driver.HeldError{}
			}
			return err
		})
	}},
	{"smaller-tokens-for-the-same-owner", []string{"idempotence/same-owner-again"}, func(s *spoiled) {
		s.answer(func(r driver.Request, g *driver.Grant, err error) error {
			if len(s.granted.of(r.Key, r.Owner)) > 0 {
				g.Token--
			}
			return err
		})
	}},
	{"again-without-a-lease", []string{"renewal/extends"}, func(s *spoiled) {
		s.tryAcquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			if old := s.granted.of(r.Key, r.Owner); len(old) > 0 {
				old[0].Sent = time.Now()
				return old[0], nil
			}
			return s.Backend.TryAcquire(ctx, r)
		}
	}},
}

var leaseMutants = []mutant{
	{"never-expires", []string{"expiry/after-the-ttl", "queue/holder-crashed"}, func(s *spoiled) {
		s.ask(func(r *driver.Request) { r.TTL *= 1000 })
	}},
	{"expires-early", []string{"expiry/after-the-ttl"}, func(s *spoiled) {
		s.ask(func(r *driver.Request) { r.TTL -= r.TTL / 20 })
	}},
	{"one-length-for-all", []string{"expiry/after-the-ttl", "renewal/extends"}, func(s *spoiled) {
		s.ask(func(r *driver.Request) { r.TTL = 500 * time.Millisecond })
	}},
	{"old-owners-are-welcome", []string{"expiry/late-owner"}, func(s *spoiled) {
		s.answer(func(r driver.Request, g *driver.Grant, err error) error {
			if old := s.granted.of(r.Key, r.Owner); len(old) > 0 {
				*g, err = old[0], nil
				g.Sent = time.Now()
			}
			return err
		})
	}},
}

var tokenMutants = []mutant{
	{"no-tokens", []string{"tokens/rise-over-release"}, func(s *spoiled) {
		s.grant(func(g *driver.Grant) { g.Token, g.LastToken = 0, 0 })
	}},
	{"falling-tokens", []string{"tokens/rise-over-release", "queue/in-order-of-arrival", "exclusion/two-backends"}, func(s *spoiled) {
		s.grant(func(g *driver.Grant) { g.Token, g.LastToken = 1<<40-g.LastToken, 1<<40-g.Token })
	}},
	{"same-tokens-after-expiry", []string{"tokens/rise-over-expiry"}, func(s *spoiled) {
		s.answer(func(r driver.Request, g *driver.Grant, err error) error {
			if old := s.granted.of(r.Key, r.Owner); len(old) > 0 {
				g.Token, g.LastToken = old[0].Token, old[0].LastToken
			}
			return err
		})
	}},
	{"promises-a-block-and-takes-one", []string{"tokens/rise-over-release"}, func(s *spoiled) {
		s.answer(func(r driver.Request, g *driver.Grant, err error) error {
			g.Token /= 10
			g.LastToken = g.Token + uint64(r.Tokens) - 1
			return err
		})
	}},
	{"more-tokens-than-asked-for", []string{"tokens/rise-over-release"}, func(s *spoiled) {
		s.ask(func(r *driver.Request) { r.Tokens++ })
	}},
}

var releaseMutants = []mutant{
	{"hides-the-loss", []string{"release/others", "expiry/late-owner", "loss/next-holder"}, func(s *spoiled) {
		s.release = func(ctx context.Context, g driver.Grant) error {
			_ = s.Backend.Release(ctx, g)
			return nil
		}
	}},
	{"releases-nothing", []string{"exclusion/one-holder"}, func(s *spoiled) {
		s.release = func(context.Context, driver.Grant) error { return nil }
	}},
	{"twice-is-an-error", []string{"release/twice"}, func(s *spoiled) {
		released := make(map[string]bool)
		s.release = func(ctx context.Context, g driver.Grant) error {
			if released[g.Owner] {
				return errors.New("released already")
			}
			released[g.Owner] = true
			return s.Backend.Release(ctx, g)
		}
	}},
	{"releases-by-token", []string{"release/unknown-outcome", "queue/granted-while-away", "cancel/grant-on-its-way"}, func(s *spoiled) {
		s.release = func(ctx context.Context, g driver.Grant) error {
			if g.Token == 0 {
				return nil
			}
			return s.Backend.Release(ctx, g)
		}
	}},
	{"keeps-the-place", []string{"cancel/next-in-queue", "shared/writer-leaves-the-queue"}, func(s *spoiled) {
		s.release = func(ctx context.Context, g driver.Grant) error {
			if !s.holds(ctx, g) {
				return nil
			}
			return s.Backend.Release(ctx, g)
		}
	}},
}
