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
		s.results(func(_ context.Context, grants []driver.Grant) []driver.RenewResult {
			return slices.Repeat([]driver.RenewResult{{Status: driver.Renewed}}, len(grants))
		})
	}},
	{"renews-all-or-nothing", []string{"renewal/large-batch"}, func(s *spoiled) {
		s.renewals(func(_ []driver.Grant, results []driver.RenewResult) {
			for i := range results {
				results[i] = results[0]
			}
		})
	}},
	{"renews-for-anybody", []string{"renewal/others", "renewal/large-batch"}, func(s *spoiled) {
		s.renewals(func(grants []driver.Grant, results []driver.RenewResult) {
			for i, g := range grants {
				if infos, err := s.Inspect(context.Background(), g.Key, 1); err == nil && len(infos) > 0 {
					results[i].Status = driver.Renewed
				}
			}
		})
	}},
	{"creates-what-is-gone", []string{"renewal/never-recreates", "renewal/never-revives", "loss/next-holder"}, func(s *spoiled) {
		s.renewals(func(grants []driver.Grant, _ []driver.RenewResult) {
			for _, g := range grants { // and says that it was lost
				_, _ = s.Backend.TryAcquire(context.Background(), driver.Request{Key: g.Key, Owner: g.Owner, TTL: g.TTL})
			}
		})
	}},
	{"creates-what-is-retained", []string{"renewal/never-recreates", "renewal/never-revives", "loss/next-holder"}, func(s *spoiled) {
		s.renewals(func(grants []driver.Grant, _ []driver.RenewResult) {
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

	{"late-renewal-takes-the-key", []string{"late/others"}, func(s *spoiled) {
		s.renewals(func(grants []driver.Grant, results []driver.RenewResult) {
			for i, g := range grants {
				if results[i].Status == driver.Lost {
					s.Drop(g.Key)
				}
			}
		})
	}},
	{"lost-for-want-of-time", []string{"renewal/no-report-afterwards"}, func(s *spoiled) {
		s.results(func(ctx context.Context, grants []driver.Grant) []driver.RenewResult {
			if ctx.Err() != nil {
				return slices.Repeat([]driver.RenewResult{{Status: driver.Lost}}, len(grants))
			}
			return driver.RenewAll(ctx, s.Backend, grants)
		})
	}},
	{"reports-twice", []string{"renewal/large-batch"}, func(s *spoiled) {
		s.renew = func(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
			s.Backend.Renew(ctx, grants, func(i int, r driver.RenewResult) {
				report(i, r)
				report(i, r)
			})
		}
	}},
	{"reports-the-next-index", []string{"renewal/large-batch"}, func(s *spoiled) {
		s.renew = func(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
			s.Backend.Renew(ctx, grants, func(i int, r driver.RenewResult) { report(i+1, r) })
		}
	}},
	{"reports-nothing-without-time", []string{"renewal/no-report-afterwards"}, func(s *spoiled) {
		s.renew = func(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
			if ctx.Err() == nil {
				s.Backend.Renew(ctx, grants, report)
			}
		}
	}},
	{"reports-afterwards", []string{"renewal/no-report-afterwards"}, func(s *spoiled) {
		s.renew = func(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
			s.Backend.Renew(ctx, grants, report)
			if ctx.Err() != nil {
				time.AfterFunc(50*time.Millisecond, func() { report(0, driver.RenewResult{Status: driver.Renewed}) })
			}
		}
	}},
	{"renews-with-an-error", []string{"renewal/large-batch"}, func(s *spoiled) {
		s.renewals(func(_ []driver.Grant, results []driver.RenewResult) {
			for i := range results {
				results[i].Err = errors.New("something else")
			}
		})
	}},
	{"refuses-long-renewals", []string{"renewal/far-longer-than-before"}, func(s *spoiled) {
		s.renewUpTo(time.Hour, driver.RenewResult{Err: errors.New("too long")})
	}},
	{"loses-what-is-too-long", []string{"renewal/above-the-limit"}, func(s *spoiled) {
		s.limit = time.Hour
		s.renewUpTo(s.limit, driver.RenewResult{Status: driver.Lost})
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
func (s *spoiled) renewals(change func([]driver.Grant, []driver.RenewResult)) {
	s.results(func(ctx context.Context, grants []driver.Grant) []driver.RenewResult {
		results := driver.RenewAll(ctx, s.Backend, grants)
		change(grants, results)
		return results
	})
}

// renewAs renews changed grants.
func (s *spoiled) renewAs(change func(g *driver.Grant)) {
	s.results(func(ctx context.Context, grants []driver.Grant) []driver.RenewResult {
		grants = slices.Clone(grants)
		for i := range grants {
			change(&grants[i])
		}
		return driver.RenewAll(ctx, s.Backend, grants)
	})
}

// renewUpTo refuses to renew for longer than the limit.
func (s *spoiled) renewUpTo(limit time.Duration, refusal driver.RenewResult) {
	s.renewals(func(grants []driver.Grant, results []driver.RenewResult) {
		for i, g := range grants {
			if g.TTL > limit {
				results[i] = refusal
			}
		}
	})
}
