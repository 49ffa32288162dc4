package locktest_test

import (
	"context"

	"github.com/distlock-go/distlock/driver"
)

var allMutants = []mutant{
	{"takes-some-of-all", []string{"all/none-if-one-is-held", "all/one-of-two"}, func(s *spoiled) {
		s.acquireAll = func(ctx context.Context, rs []driver.Request) ([]driver.Grant, error) {
			var grants []driver.Grant
			for _, r := range rs {
				g, err := s.TryAcquire(ctx, r)
				if err != nil {
					return nil, err
				}
				grants = append(grants, g)
			}
			return grants, nil
		}
	}},
	{"takes-all-but-one", []string{"all/each-is-granted"}, func(s *spoiled) {
		s.acquireAll = func(ctx context.Context, rs []driver.Request) ([]driver.Grant, error) {
			grants, err := s.Backend.TryAcquireAll(ctx, rs)
			if err == nil {
				_ = s.Backend.Release(ctx, grants[len(grants)-1])
			}
			return grants, err
		}
	}},
	{"takes-all-from-others", []string{"all/none-if-one-is-held", "all/one-of-two"}, func(s *spoiled) {
		s.acquireAll = func(ctx context.Context, rs []driver.Request) ([]driver.Grant, error) {
			for _, r := range rs {
				s.Drop(r.Key)
			}
			return s.Backend.TryAcquireAll(ctx, rs)
		}
	}},
	{"late-set-shortens", []string{"late/shortens-nothing"}, func(s *spoiled) {
		s.acquireAll = func(ctx context.Context, rs []driver.Request) ([]driver.Grant, error) {
			grants, err := s.Backend.TryAcquireAll(ctx, rs)
			for _, g := range grants {
				s.shorten(g, err)
			}
			return grants, err
		}
	}},
	{"one-lease-for-all", []string{"all/each-ends"}, func(s *spoiled) {
		s.acquireAll = func(ctx context.Context, rs []driver.Request) ([]driver.Grant, error) {
			own := make([]driver.Request, len(rs))
			for i, r := range rs {
				own[i] = r
				own[i].TTL = 1000 * r.TTL
			}
			grants, err := s.Backend.TryAcquireAll(ctx, own)
			for i := range grants {
				grants[i].TTL = rs[i].TTL
			}
			return grants, err
		}
	}},
	{"smaller-tokens-again-for-all", []string{"all/idempotent"}, func(s *spoiled) {
		s.acquireAll = func(ctx context.Context, rs []driver.Request) ([]driver.Grant, error) {
			again := s.holds(ctx, rs[0].Grant())
			grants, err := s.Backend.TryAcquireAll(ctx, rs)
			for i := range grants {
				if again {
					grants[i].Token--
				}
			}
			return grants, err
		}
	}},
	{"one-token-for-all", []string{"all/tokens-rise"}, func(s *spoiled) {
		s.acquireAll = func(ctx context.Context, rs []driver.Request) ([]driver.Grant, error) {
			grants, err := s.Backend.TryAcquireAll(ctx, rs)
			for i := range grants {
				grants[i].Token, grants[i].LastToken = 1, 1
			}
			return grants, err
		}
	}},
}
