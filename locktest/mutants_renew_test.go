package locktest_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var renewMutants = []mutant{
	{"renews-nothing", []string{"renewal/extends", "renewal/large-batch", "locker/loss-is-told"}, func(s *spoiled) {
		s.results(func(_ context.Context, grants []driver.Grant) []error {
			return make([]error, len(grants))
		})
	}},
	{"renews-all-or-nothing", []string{"renewal/large-batch"}, func(s *spoiled) {
		s.renewals(func(_ []driver.Grant, results []error) {
			for i := range results {
				results[i] = results[0]
			}
		})
	}},
	{"renews-for-anybody", []string{"renewal/others", "renewal/large-batch"}, func(s *spoiled) {
		s.renewals(func(grants []driver.Grant, results []error) {
			for i, g := range grants {
				if infos, err := s.Inspect(context.Background(), g.Key, 1); err == nil && len(infos) > 0 {
					results[i] = nil
				}
			}
		})
	}},
	{"creates-what-is-gone", []string{"renewal/never-recreates", "renewal/never-revives", "loss/next-holder"}, func(s *spoiled) {
		s.renewals(func(grants []driver.Grant, _ []error) {
			for _, g := range grants { // and says that it was lost
				_, _ = s.Backend.TryAcquire(context.Background(), driver.Request{Key: g.Key, Owner: g.Owner, TTL: g.TTL})
			}
		})
	}},
	{"creates-what-is-retained", []string{"renewal/never-recreates", "renewal/never-revives", "loss/next-holder"}, func(s *spoiled) {
		s.renewals(func(grants []driver.Grant, _ []error) {
			for _, g := range grants {
				if g.Retain {
					_, _ = s.Backend.TryAcquire(context.Background(), driver.Request{Key: g.Key, Owner: g.Owner, TTL: g.TTL})
				}
			}
		})
	}},
	{"renews-for-too-long", []string{"renewal/extends"}, func(s *spoiled) {
		s.renewAs(func(g *driver.Grant) { g.TTL *= 3 })
	}},
	{"never-shortens", []string{"renewal/retain-for-less"}, func(s *spoiled) {
		s.renewAs(func(g *driver.Grant) { g.Retain = false })
	}},

	{"late-renewal-takes-the-key", []string{"renewal/others"}, func(s *spoiled) {
		s.renewals(func(grants []driver.Grant, results []error) {
			for i, g := range grants {
				if errors.Is(results[i], driver.ErrLost) {
					s.Drop(g.Key)
				}
			}
		})
	}},
	{"lost-for-want-of-time", []string{"renewal/no-report-afterwards"}, func(s *spoiled) {
		s.results(func(ctx context.Context, grants []driver.Grant) []error {
			if ctx.Err() != nil {
				return slices.Repeat([]error{driver.ErrLost}, len(grants))
			}
			return driver.RenewAll(ctx, s.Backend, grants)
		})
	}},
	{"reports-twice", []string{"renewal/large-batch"}, func(s *spoiled) {
		s.renew = func(ctx context.Context, grants []driver.Grant, report func(int, error)) {
			s.Backend.Renew(ctx, grants, func(i int, r error) {
				report(i, r)
				report(i, r)
			})
		}
	}},
	{"reports-the-next-index", []string{"renewal/large-batch"}, func(s *spoiled) {
		s.renew = func(ctx context.Context, grants []driver.Grant, report func(int, error)) {
			s.Backend.Renew(ctx, grants, func(i int, r error) { report(i+1, r) })
		}
	}},
	{"reports-nothing-without-time", []string{"renewal/no-report-afterwards"}, func(s *spoiled) {
		s.renew = func(ctx context.Context, grants []driver.Grant, report func(int, error)) {
			if ctx.Err() == nil {
				s.Backend.Renew(ctx, grants, report)
			}
		}
	}},
	{"reports-afterwards", []string{"renewal/no-report-afterwards"}, func(s *spoiled) {
		s.renew = func(ctx context.Context, grants []driver.Grant, report func(int, error)) {
			s.Backend.Renew(ctx, grants, report)
			if ctx.Err() != nil {
				time.AfterFunc(50*time.Millisecond, func() { report(0, nil) })
			}
		}
	}},
	{"refuses-long-renewals", []string{"renewal/far-longer-than-before"}, func(s *spoiled) {
		s.renewUpTo(time.Hour, errors.New("too long"))
	}},
	{"loses-what-is-too-long", []string{"renewal/above-the-limit"}, func(s *spoiled) {
		s.limit = time.Hour
		s.renewUpTo(s.limit, driver.ErrLost)
	}},
	{"takes-what-is-too-long", []string{"renewal/above-the-limit"}, func(s *spoiled) { s.limit = time.Hour }},
	{"limits-the-ttl-later", []string{"exclusion/one-holder"}, func(s *spoiled) {
		calls := 0
		s.features = func(f *driver.Features) {
			if calls++; calls > 1 {
				f.MaxTTL = 24 * time.Hour
			}
		}
	}},
}

// renewals changes the results of an honest renewal.
func (s *spoiled) renewals(change func([]driver.Grant, []error)) {
	s.results(func(ctx context.Context, grants []driver.Grant) []error {
		results := driver.RenewAll(ctx, s.Backend, grants)
		change(grants, results)
		return results
	})
}

// renewAs renews changed grants.
func (s *spoiled) renewAs(change func(g *driver.Grant)) {
	s.results(func(ctx context.Context, grants []driver.Grant) []error {
		grants = slices.Clone(grants)
		for i := range grants {
			change(&grants[i])
		}
		return driver.RenewAll(ctx, s.Backend, grants)
	})
}

// renewUpTo refuses to renew for longer than the limit.
func (s *spoiled) renewUpTo(limit time.Duration, refusal error) {
	s.renewals(func(grants []driver.Grant, results []error) {
		for i, g := range grants {
			if g.TTL > limit {
				results[i] = refusal
			}
		}
	})
}
